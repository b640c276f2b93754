"""Who asks, and whether they may. May use `resources` and what is below.

- `authentication/`: one module a method, and their chain
- `authorization/`: one module a mode, their chain and its cache
"""
