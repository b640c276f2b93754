"""Connections. May use `codec` and `base`.

- `incoming/`: HTTP/1.1 on sockets, TLS and WebSockets, as a server
- `outgoing/`: calls to webhooks, extension servers, identity providers, nodes and pods
"""
