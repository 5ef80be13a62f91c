"""The memory systems that papers compare with, each in a module of its own, written natively."""
