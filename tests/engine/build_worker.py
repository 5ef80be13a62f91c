"""A build in a process of its own, to be killed: build_worker.py FILE URL [episodes|records]."""

from __future__ import annotations

import sys

from evimem.compose import Memory, build_models
from evimem.settings import Settings


def main() -> None:
    """Builds the facts, the episodes or the records of the default bank."""
    path, url, *what = sys.argv[1:]
    environ = {"EVIMEM_EMBEDDER": "none", "EVIMEM_LLM_URL": url, "EVIMEM_LLM_MODEL": "small"}
    settings = Settings.load(path=path, environ=environ)
    with Memory.from_settings(settings, models=build_models(settings)) as memory:
        if what == ["records"]:
            memory.manage()
        elif what:
            memory.build_episodes(workers=4)
        else:
            memory.build_facts(workers=4)


if __name__ == "__main__":
    main()
