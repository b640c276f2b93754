"""Authentication and authorization of requests. May import `resources` and the layers below it.

- `authentication/`: one module per method, and their chain
- `authorization/`: one module per mode, their chain and its cache
"""
