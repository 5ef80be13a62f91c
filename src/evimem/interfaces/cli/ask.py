"""Commands that read: ask, search, context, show, sessions, history, trace."""

from __future__ import annotations

import click

from evimem.engine import SearchResult
from evimem.errors import NotFound
from evimem.interfaces.cli.common import (
    EXIT_NOTHING,
    bank_option,
    emit_json,
    failing_clearly,
    json_option,
    open_memory,
    out,
    parse_time,
)
from evimem.interfaces.cli.render import show_answer, show_search, show_trace, when
from evimem.model.item import Item
from evimem.model.turn import Turn
from evimem.recipes import MODEL_RECIPES, RECIPES
from evimem.settings import Settings
from evimem.trace import Trace

__all__ = ["COMMANDS"]

RANKERS = ("fusion", "rrf", "bm25", "dense", "mmr")


@click.command()
@click.argument("question")
@click.option(
    "--recipe", type=click.Choice(sorted([*RECIPES, *MODEL_RECIPES])), help="How to answer."
)
@click.option("--max-rounds", type=int, metavar="N", help="At most N rounds of search.")
@click.option("--budget", type=int, metavar="TOKENS", help="Read at most so much evidence.")
@click.option("--as-of", metavar="TIME", help="Answer as of a time: nothing said later is seen.")
@bank_option
@json_option
@failing_clearly
def ask(
    question: str,
    recipe: str | None,
    max_rounds: int | None,
    budget: int | None,
    as_of: str | None,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Answer QUESTION from memory, with citations checked against the stored words.

    \b
    Examples:
      evimem ask "When did Caroline go to the support group?"
      evimem ask "What is the server's ssh port?" --as-of 2025 --json
      evimem ask "Which of my beds gained most?" --recipe mera
    """
    tz = Settings.load(path=path, bank=bank).tz
    with open_memory(path, bank) as memory:
        trace = memory.ask_traced(
            question,
            recipe=recipe,
            max_rounds=max_rounds,
            budget=budget,
            as_of=parse_time(as_of, tz=tz, end=True),
        )
    answer = trace.answer
    if answer is None:  # pragma: no branch: the loop always answers
        return
    if as_json:
        emit_json(answer)
    else:
        show_answer(out(), answer, trace=trace)
    if answer.status == "not_in_memory":
        raise SystemExit(EXIT_NOTHING)


@click.command()
@click.argument("query")
@click.option("-k", "--top-k", type=int, default=10, show_default=True, help="How many hits.")
@click.option("--ranker", type=click.Choice(RANKERS), default="fusion", show_default=True)
@click.option("--speaker", metavar="NAME", help="Only what NAME said.")
@click.option("--session", metavar="ID", help="Only this session.")
@click.option("--since", metavar="TIME", help="Said at or after (2023, 2023-05, 2023-05-08 ...).")
@click.option("--until", metavar="TIME", help="Said at or before, to the end of it.")
@click.option("--explain", is_flag=True, help="Show the place in every list.")
@bank_option
@json_option
@failing_clearly
def search(
    query: str,
    top_k: int,
    ranker: str,
    speaker: str | None,
    session: str | None,
    since: str | None,
    until: str | None,
    explain: bool,
    path: str | None,
    bank: str | None,
    as_json: bool,
) -> None:
    """Turns and facts that fit QUERY, best first. Nothing in the query is an operator.

    \b
    Example:
      evimem search "pottery" --since 2023-05 --json
    """
    tz = Settings.load(path=path, bank=bank).tz
    with open_memory(path, bank) as memory:
        result = memory.search(
            query,
            top_k=top_k,
            ranker=ranker,  # type: ignore[arg-type]  # click checked the choice
            speaker=speaker,
            session=session,
            since=parse_time(since, tz=tz),
            until=parse_time(until, tz=tz, end=True),
        )
    _emit_search(result, explain=explain, as_json=as_json)


def _emit_search(result: SearchResult, *, explain: bool, as_json: bool) -> None:
    if as_json:
        emit_json(result)
    else:
        show_search(out(), result, explain=explain)
    if not result.hits:
        raise SystemExit(EXIT_NOTHING)


@click.command()
@click.argument("query")
@click.option("--max-tokens", type=int, default=1500, show_default=True)
@bank_option
@json_option
@failing_clearly
def context(query: str, max_tokens: int, path: str | None, bank: str | None, as_json: bool) -> None:
    """A block of found turns for a prompt, each line with a handle.

    \b
    Example:
      evimem context "Caroline's hobbies" --max-tokens 800
    """
    with open_memory(path, bank) as memory:
        block = memory.context(query, max_tokens=max_tokens)
    if as_json:
        emit_json({"context": block})
    else:
        click.echo(block)
    if not block:
        raise SystemExit(EXIT_NOTHING)


@click.command()
@click.argument("ref")
@click.option("--around", type=int, default=2, show_default=True, help="Neighbours each side.")
@bank_option
@json_option
@failing_clearly
def show(ref: str, around: int, path: str | None, bank: str | None, as_json: bool) -> None:
    """A turn or fact by its id or its id in the source, with its neighbours and facts.

    \b
    Example:
      evimem show D1:3
    """
    with open_memory(path, bank) as memory:
        value = memory.get(ref)
        near = memory.around(ref, before=around, after=around)
        facts = memory.facts(ref)
    if as_json:
        emit_json({"entry": value, "around": near, "facts": facts})
        return
    console = out()
    listed: list[Turn | Item] = [*near] or [value]
    for turn in listed:
        ident = turn.turn_id if isinstance(turn, Turn) else turn.item_id
        marked = ">" if turn is value or turn == value else " "
        head = f"{marked} {turn.source_id or ident}  {turn.speaker}, {when(turn.said_at)}"
        console.print(f"{head}: {turn.body}", markup=False)
    for fact in facts:
        flags = fact.attrs.get("flags")
        told = f" ({', '.join(map(str, flags))})" if isinstance(flags, list) else ""
        console.print(f"  fact {fact.item_id}{told}: {fact.text}", markup=False)


@click.command()
@bank_option
@json_option
@failing_clearly
def sessions(path: str | None, bank: str | None, as_json: bool) -> None:
    """List the sessions of a bank by time.

    \b
    Example:
      evimem sessions --json
    """
    with open_memory(path, bank) as memory:
        found = memory.sessions()
    if as_json:
        emit_json(found)
        return
    for one in found:
        out().print(
            f"{one.session_id}  {when(one.started_at)}  {one.source_id}  {one.title}",
            markup=False,
        )


@click.command()
@click.argument("ref")
@bank_option
@json_option
@failing_clearly
def history(ref: str, path: str | None, bank: str | None, as_json: bool) -> None:
    """The change log of one turn or fact, oldest first.

    \b
    Example:
      evimem history D1:3
    """
    with open_memory(path, bank) as memory:
        changes = memory.history(ref)
    if as_json:
        emit_json(changes)
        return
    for change in changes:
        was = f" (was: {change.text})" if change.text is not None else ""
        out().print(f"{when(change.at)}  {change.op}  v{change.version}{was}", markup=False)


@click.group()
def trace() -> None:
    """How a question was answered, round by round."""


@trace.command("show")
@click.argument("trace_id", default="LAST")
@click.option("--turn", metavar="REF", help="Only what became of this turn in each round.")
@bank_option
@json_option
@failing_clearly
def trace_show(
    trace_id: str, turn: str | None, path: str | None, bank: str | None, as_json: bool
) -> None:
    """Every round of TRACE_ID: query, why, candidates, ranks per list, decision and reason.

    \b
    Examples:
      evimem trace show LAST
      evimem trace show LAST --turn D1:3
    """
    with open_memory(path, bank) as memory:
        found = memory.trace(trace_id)
        if turn is not None:
            value = memory.get(turn)
            ident = value.turn_id if isinstance(value, Turn) else value.item_id
            _emit_fate(found, ident, as_json=as_json)
            return
        texts = {} if as_json else memory.texts(found.viewed)
    if as_json:
        emit_json(found)
    else:
        show_trace(out(), found, texts)


def _emit_fate(found: Trace, ident: str, *, as_json: bool) -> None:
    lines = found.fate(ident)
    if as_json:
        emit_json({"trace": found.trace_id, "turn": ident, "fate": lines})
        return
    for line in lines:
        click.echo(line)


@trace.command("prompts")
@click.argument("trace_id", default="LAST")
@click.option(
    "--round", "number", type=int, metavar="N", help="Only round N (0: before the first)."
)
@bank_option
@json_option
@failing_clearly
def trace_prompts(
    trace_id: str, number: int | None, path: str | None, bank: str | None, as_json: bool
) -> None:
    """Every prompt that TRACE_ID sent, made again from its states, with the replies.

    \b
    Examples:
      evimem trace prompts LAST
      evimem trace prompts LAST --round 2 --json
    """
    with open_memory(path, bank) as memory:
        found = memory.trace(trace_id)
        rebuilt = memory.prompts(found.trace_id)
    replies: dict[str, list[str]] = {}
    for call in found.calls:
        replies.setdefault(call.request, []).append(call.text)
    shown = [one for one in rebuilt if number is None or one.round == number]
    if as_json:
        emit_json([{"prompt": one, "replies": replies.get(one.request.digest)} for one in shown])
        return
    for one in shown:
        click.echo(f"=== round {one.round}, {one.request.role}: {one.request.prompt}")
        for message in one.request.messages:
            click.echo(f"--- {message.role}\n{message.text}")
        known = replies.get(one.request.digest)
        if known is None:
            click.echo("--- not sent in these words: another version made the trace, or it failed")
        for text in known or ():
            click.echo(f"--- reply\n{text}")


@trace.command("list")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True)
@bank_option
@json_option
@failing_clearly
def trace_list(limit: int, path: str | None, bank: str | None, as_json: bool) -> None:
    """The stored traces, newest first.

    \b
    Example:
      evimem trace list --limit 5
    """
    with open_memory(path, bank) as memory:
        found = memory.traces(limit=limit)
    if as_json:
        emit_json(
            [
                {
                    "trace_id": one.trace_id,
                    "question": one.question,
                    "status": one.answer.status if one.answer is not None else None,
                    "created_at": one.created_at,
                }
                for one in found
            ]
        )
        return
    if not found:
        raise NotFound("no question has been asked of this bank yet")
    for one in found:
        status = one.answer.status if one.answer is not None else "-"
        out().print(f"{one.trace_id}  {status:<13}  {one.question}", markup=False)


COMMANDS = (ask, search, context, show, sessions, history, trace)
