"""Scores, intervals and tests: pure functions, shared by benchmarks and training.

`retrieval` and `budget` score rankings, `text` scores answers, `stats` gives intervals, `tokens`
estimates sizes. Import from the submodules.
"""
