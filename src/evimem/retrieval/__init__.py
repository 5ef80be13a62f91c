"""Finding rows of a bank: analyzer, in-memory index, rankers and their fusion. NumPy only."""
