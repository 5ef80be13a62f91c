"""Answering one question: the loop, its parts, and the deterministic parts of `lite`."""
