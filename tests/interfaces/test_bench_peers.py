"""`evimem bench peers` as far as it goes without other packages."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from evimem.embed.hashing import HashingEmbedder
from evimem.eval.peers.retrieval import OurSearch
from evimem.interfaces.cli.bench_peers import _opened
from evimem.interfaces.cli.main import cli
from evimem.model.turn import History, Session, Turn


def test_without_environments_the_command_says_how_to_make_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EVIMEM_PEERS", raising=False)

    done = CliRunner().invoke(cli, ["bench", "peers"])

    assert done.exit_code == 2
    assert "dev/make_peer_env.py" in done.output and "--peers" in done.output


def test_our_row_of_the_comparison_stores_and_finds_through_the_memory_that_the_command_opens() -> (
    None
):
    turn = Turn(
        turn_id="t1", session_id="s1", index=0, speaker="Ines", role="person", text="Amber bakes."
    )
    history = History(
        history_id="h", sessions=(Session(session_id="s1", source_id="1"),), turns=(turn,)
    )
    search = OurSearch(_opened, HashingEmbedder(), ranker="bm25", version="test")
    try:
        search.build(history)
        search.prepare("Amber")
        assert search.rank("Amber", 5) == ["t1"]
    finally:
        search.close()
