"""MERA: a planner asks for what an evidence graph still misses, a verifier gates what enters it."""
