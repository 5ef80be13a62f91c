"""NEMORI's way of reading an episodic memory: one search, episodes and facts, one answer."""
