"""Other memory packages as they are, each in an environment of its own, run beside our systems."""
