"""The deterministic parts of recipe `lite`: no model, no key, no network."""
