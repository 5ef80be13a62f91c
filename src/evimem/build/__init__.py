"""Builders: what is derived from stored turns before any question is asked."""
