"""Training of MERA's planner: a language model that writes intents, or a selector of queries.

`selector_*` need NumPy only. `rows` makes prompts and rewards for a language model and needs
nothing but the core; `grpo` and `sft` stand on torch, transformers and TRL (the extra `train`).
"""
