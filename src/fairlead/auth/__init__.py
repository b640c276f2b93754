"""Authentication and authorization of requests. May use `resources` and the packages below it.

- `authentication/`: one module per method, and their chain
- `authorization/`: one module per mode, their chain and its cache
"""
