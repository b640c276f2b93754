"""Authorization: one module per mode, the chain and its decision cache."""
