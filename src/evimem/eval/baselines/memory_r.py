"""Memory-R1 and Memory-R2 without their weights: extractor, single-turn manager, fixed retrieval
(Uni-Mem; baselines 1.16, 1.17). What their training brings is not here: "untrained policy"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evimem.eval.baselines.common import chunks_of, room_of, say_data
from evimem.eval.baselines.fact_bank import (
    MAX_FACT,
    OPERATIONS,
    OPERATIONS_EXAMPLE,
    FactBank,
    FactMemory,
    Operation,
    Source,
    apply,
    batches_of,
    fitted,
    labelled,
    operations_of,
    related,
    rows_of,
    source_of,
    store_turns,
    texts_of,
)
from evimem.eval.baselines.mem0_prompts import FACTS, FACTS_EXAMPLE
from evimem.eval.baselines.memory_r_prompts import (
    ANSWER_R1,
    ANSWER_R2,
    EXTRACT_R1,
    EXTRACT_R2,
    FACTS_R2,
    FACTS_R2_EXAMPLE,
    MANAGE_R1,
    MANAGE_R2,
    OPERATIONS_R2,
    OPERATIONS_R2_EXAMPLE,
)
from evimem.eval.harness.system import Deviation, Tools
from evimem.model.turn import History, Turn
from evimem.query.calls import Said, one_line
from evimem.scoring.tokens import estimate_tokens

__all__ = ["MemoryR1", "MemoryR2"]
