"""Faces to the outside: parse, one call of Memory, format. No logic."""
