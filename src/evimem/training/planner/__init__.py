"""Training of MERA's planner as a language model that writes intents.

`gathering` and `offline` make states without any model, `rows` makes prompts and rewards, `wording`
and `measuring` put and price them, all on the core alone; `weights`, `sft`, `grpo` and `local`
stand on torch, transformers and TRL (the extra `train`), and `recipe` is the whole of it, as a
command in `__main__`. The planner that chooses among queries is trained in `training.selector`.
"""
