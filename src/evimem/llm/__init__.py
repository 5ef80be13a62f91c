"""Chat models: adapters for providers, and wrappers around any of them."""
