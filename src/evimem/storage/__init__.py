"""Stores: implementations of `evimem.ports.Store`.

`sqlite` is the embedded default. They know ports and values only, never rankings or recipes.
"""
