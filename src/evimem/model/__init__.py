"""Frozen values that every layer shares. Standard library only, no I/O.

`ids` makes stable ids, `turn` holds what was said, `item` what was derived from it, `time` spans
of time, `search` requests and hits, `evidence` the state of one question, `answer` what comes back.
"""
