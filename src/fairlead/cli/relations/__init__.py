"""Trees of owner references."""
