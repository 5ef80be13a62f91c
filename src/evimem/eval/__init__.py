"""Benchmarks: retrieval, speed and answers. Plots and SciPy come with the `eval` extra.

Systems under test come in from outside (`systems`); runs give frozen reports that are written as
JSON with everything needed to run them again.
"""
