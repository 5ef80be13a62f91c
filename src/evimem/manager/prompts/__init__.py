"""The prompts of Uni-Mem, one module each: wording, rules, rendering, reading of replies.

The paper prints its prompts; the wording here is ours and carries each of their rules, mapped in
`Prompt.rules`. To reproduce a published figure the printed ones can be given as files
(`query.qemem.prompts.templates`).
"""
