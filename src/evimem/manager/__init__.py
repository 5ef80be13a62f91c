"""Uni-Mem's memory manager: one agent that writes and searches a bank of records with tools.

`events` are what it sees one at a time, `bank` keeps the records and their log, `tools` and
`environment` say what a call does and what is refused, `protocol` is how a model writes calls,
`agent` runs a policy over events, `lite` is a policy without a model, `loop_parts` make a retrieval
event of the loop that answers questions.
"""
