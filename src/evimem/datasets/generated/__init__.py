"""Training conversations that may be shipped, made facts first (BEN-6, MERA-52 to 54, UNI-51).

A world of people, lasting facts and a graph of events with causes comes first; sessions, turns and
questions are made from it, so that the gold turns of every question are exact. No text of a
benchmark is used, and none of a model unless the paraphrase pass is asked for.
"""

from evimem.datasets.generated.build import Generated, generate, generate_with_report
from evimem.datasets.generated.files import write_locomo, write_longmemeval
from evimem.datasets.generated.guard import refuse_test_histories
from evimem.datasets.generated.paraphrase import paraphrase
from evimem.datasets.generated.profiles import PROFILES, HistoryPlan, Profile

__all__ = [
    "PROFILES",
    "Generated",
    "HistoryPlan",
    "Profile",
    "generate",
    "generate_with_report",
    "paraphrase",
    "refuse_test_histories",
    "write_locomo",
    "write_longmemeval",
]
