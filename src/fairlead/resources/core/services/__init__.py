"""Services: validation, and the allocation of their addresses and ports."""
