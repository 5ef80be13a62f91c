"""What runs inside a peer's own environment; nothing here imports evimem or is imported by it."""
