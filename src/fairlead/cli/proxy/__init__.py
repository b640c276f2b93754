"""The local HTTP server of `proxy`.

- `messages`: requests of local clients, and answers to them
- `filters`: which requests are passed on
- `relay`: passes requests on to the API server
- `files`: serves a directory
"""
