"""Training of MERA's planner and of Uni-Mem's manager.

Pure functions, no torch. Of the planner: `states` are collected from whole trajectories and
`filtering` keeps the informative ones; `execution` tries an output on its memory, `rewards` and
`penalties` price it. Of the manager: `stored` scores what a bank holds, `lineage` says which events
share a score, `returns` what each event gets, `assigning` does all of it for a group of rollouts,
and `variants` says which of it a method uses. `advantages` and `objectives` are the maths that
trainers must reproduce; `schedules`, `selection`, `configs` and `budget` say how a training runs.
"""
