"""The plan of a build over a real conversation: every turn once, with its metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from evimem.build.facts import context_of, key_of
from evimem.build.prompts.extract import render
from evimem.datasets import load


@pytest.mark.data
def test_mera_1_turns_are_chronological_with_speaker_time_and_session_and_one_call_each(
    data_dir: Path,
) -> None:
    dataset = load("locomo", data_dir=data_dir)
    turns = sessions = 0
    places = set()
    for history in dataset.histories.values():
        known = {session.session_id: session for session in history.sessions}
        keys = []
        for session_id in known:
            spoken = [turn for turn in history.turns if turn.session_id == session_id]
            assert [turn.index for turn in spoken] == list(range(len(spoken)))
            for at, turn in enumerate(spoken):
                assert turn.speaker and turn.body.strip() and turn.said_at is not None
                places.add((history.history_id, turn.source_id))
                request = render(turn, context=context_of(spoken, at))
                keys.append(key_of(request, model_id="m"))
        turns += len(keys)
        sessions += len(known)
        starts = [one.started_at for one in history.sessions if one.started_at is not None]
        assert starts == sorted(starts)
        assert len(set(keys)) >= 0.99 * len(keys), "turns are told apart by their words"
    assert (turns, sessions, len(places)) == (5882, 272, 5882)
