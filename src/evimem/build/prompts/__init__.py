"""The prompts of the builders, one module each."""
