"""Training the selector: the planner of `lite-trained`, small enough for two cores and NumPy."""
