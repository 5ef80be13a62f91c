"""One way to run any memory system over a benchmark, and to keep what it did."""
