"""Uni-Mem's training from conversations to a table: supervised start, then Stage-Decoupled GRPO.

Read `recipe` first; it goes from top to bottom. `tasks` are the conversations, `demonstrations`
what a teacher did on them. `wording` writes an event as token ids, `rollouts` runs many events at
once, `stages` makes the rollouts of an iteration, `crediting` turns them into rows with an
advantage per token, `graders` ask frozen models. None of these needs torch. `policy`, `sft`,
`trainer`, `choosing`, `metrics` and `toy` do; they need the extra `train`, and nothing outside of
this package imports them.
"""
