"""Embedders: the local default, an OpenAI-compatible endpoint, sentence-transformers, a double."""
