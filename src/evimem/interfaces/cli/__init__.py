"""The `evimem` command."""
