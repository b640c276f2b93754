"""Authentication: one module per method, and the chain."""
