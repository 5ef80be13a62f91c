"""Training of MERA's planner and of Uni-Mem's manager.

Pure functions, no torch: `states` are collected from whole trajectories and `filtering` keeps the
informative ones; `execution` tries an output of a planner on its bank, `rewards` and `penalties`
price it. `stored` scores what a bank holds, `lineage` says which events share a score, `returns`
what each event gets, `variants` which of it a method uses. `advantages` and `objectives` are the
maths that the trainers must reproduce, `schedules`, `selection`, `configs` and `budget` say how a
training runs.
"""
