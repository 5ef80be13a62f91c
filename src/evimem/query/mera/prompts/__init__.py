"""The prompts of MERA, one module each: wording, rules, reply schema, rendering.

The paper prints none of its prompts; the wording is ours and carries each rule of its sections
3.3, 3.4, A.2 and A.3, mapped in `Prompt.rules`.
"""
