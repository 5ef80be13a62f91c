"""The gate: only records that help resolve the question enter the evidence (MERA-40 to 42)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evimem.model.chat import ChatRequest
from evimem.model.evidence import Assessment, Candidate, Decision, EvidenceItem, EvidenceState
from evimem.model.turn import JsonValue
from evimem.ports import ChatModel
from evimem.query.calls import Said, ask
from evimem.query.graph import Handle, delta_from, serialise
from evimem.query.mera.prompts import verify as prompt
from evimem.query.mera.records import facts_in, labelled, reference
from evimem.query.parts import BankView

__all__ = ["GateVerifier"]

WHY_CHARS = 200
"""Characters kept of a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerifier:
    """Asks a model to judge every candidate and to say what the kept ones add."""

    model: ChatModel
    """The evidence model (role `verify`)."""
    graph: bool
    """False: decisions only (MERA-49)."""
    state_tokens: int
    """Ceiling of graph and evidence in the prompt."""
    reply_tokens: int
    """Ceiling of the reply."""

    def assess(
        self, state: EvidenceState, candidates: Sequence[Candidate], view: BankView
    ) -> Assessment:
        """A decision for every candidate; after an unusable reply nothing is accepted."""
        said = ask(self.model, self.request(state, candidates))
        if said.problem:
            return _nothing(candidates, said)
        return self._judged(state, _by_handle(candidates), said)

    def request(self, state: EvidenceState, candidates: Sequence[Candidate]) -> ChatRequest:
        """The verifier's prompt for a state and the candidates of a round, by these alone."""
        shown = serialise(
            state,
            token_budget=self.state_tokens,
            sections=frozenset({"graph", "evidence"}),
        )
        return prompt.render(
            state.question.text,
            state=shown.text,
            candidates=labelled((h, one.payload) for h, one in _by_handle(candidates).items()),
            reference=reference(state),
            graph=self.graph,
            room=self.reply_tokens,
        )

    def _judged(
        self, state: EvidenceState, handles: Mapping[str, Candidate], said: Said
    ) -> Assessment:
        verdicts, dropped = _verdicts(said.data.get("decisions"), handles)
        decisions = tuple(
            _decision(candidate, verdicts.get(name)) for name, candidate in handles.items()
        )
        kept = [name for name in handles if verdicts.get(name, (False, ""))[0]]
        evidence = tuple(
            _evidence(handles[name], handle=f"e{len(state.evidence) + n}", round=state.round + 1)
            for n, name in enumerate(kept, start=1)
        )
        graph = None
        if self.graph:
            built = delta_from(
                said.data,
                handles=_handles(state, handles, frozenset(kept)),
                round=state.round + 1,
            )
            graph = built.delta
            dropped += built.dropped
        return Assessment(
            decisions=decisions,
            evidence=evidence,
            sufficient=said.data.get("sufficient") is True,
            missing=str(said.data.get("missing", "")),
            graph=graph,
            dropped=(*said.dropped, *dropped),
        )


def _by_handle(candidates: Sequence[Candidate]) -> dict[str, Candidate]:
    return {f"c{n}": candidate for n, candidate in enumerate(candidates, start=1)}


def _nothing(candidates: Sequence[Candidate], said: Said) -> Assessment:
    decisions = tuple(
        Decision(item_id=one.item_id, verdict="reject", reason="verifier_unusable")
        for one in candidates
    )
    return Assessment(decisions=decisions, evidence=(), sufficient=False, problem=said.problem)


def _verdicts(
    listed: JsonValue, handles: Mapping[str, Candidate]
) -> tuple[dict[str, tuple[bool, str]], tuple[str, ...]]:
    """Handle -> (keep, why), and what names no candidate or names one again."""
    verdicts: dict[str, tuple[bool, str]] = {}
    dropped: list[str] = []
    for one in listed if isinstance(listed, list) else []:
        if not isinstance(one, dict):
            continue
        name = str(one.get("id", "")).strip().strip("[]")
        if name not in handles:
            dropped.append(f"decisions: no candidate {name!r:.40}")
        elif name in verdicts:
            dropped.append(f"decisions: {name} judged twice, the first word stands")
        else:
            verdicts[name] = (one.get("keep") is True, str(one.get("why", ""))[:WHY_CHARS])
    return verdicts, tuple(dropped)


def _decision(candidate: Candidate, verdict: tuple[bool, str] | None) -> Decision:
    if verdict is None:
        return Decision(item_id=candidate.item_id, verdict="reject", reason="not_judged")
    keep, why = verdict
    return Decision(
        item_id=candidate.item_id,
        verdict="accept" if keep else "reject",
        reason=why or ("kept" if keep else "not_kept"),
    )


def _evidence(candidate: Candidate, *, handle: str, round: int) -> EvidenceItem:
    """The accepted record. What words of the turn carry it is looked up for the answer."""
    return EvidenceItem(
        item_id=candidate.refs[0],
        quote="",
        start=0,
        end=0,
        round=round,
        claim=candidate.payload,
        handle=handle,
        refs=candidate.refs,
        said_at=candidate.said_at,
    )


def _handles(
    state: EvidenceState, candidates: Mapping[str, Candidate], kept: frozenset[str]
) -> dict[str, Handle]:
    """What a graph element may stand on: candidates of this round and evidence from before."""
    handles = {
        name: Handle(
            refs=one.refs, said_at=one.said_at, text=facts_in(one.payload), accepted=name in kept
        )
        for name, one in candidates.items()
    }
    for item in state.evidence:
        handles[item.handle] = Handle(
            refs=item.refs, said_at=item.said_at, text=facts_in(item.claim), accepted=True
        )
    return handles
