"""Parts that bring two systems together, for experiments: each is one recipe, off by default."""
