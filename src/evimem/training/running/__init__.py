"""What trainings on PyTorch share: metrics in a file, and how a command is launched and ends."""
