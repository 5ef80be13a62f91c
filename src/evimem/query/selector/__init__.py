"""A trained planner without a language model: it selects queries among generated ones."""
