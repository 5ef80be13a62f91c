"""QEMem: query-specific evidence over episodes, semantic facts and turns (spec QEM-1 to 32)."""
