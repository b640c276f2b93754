"""Network connections. May use `codec` and `base`.

- `incoming/`: the server side: HTTP/1.1, TLS and WebSockets
- `outgoing/`: calls to webhooks, extension servers, identity providers, nodes and pods
- `grpc/`: calls to etcd, kms plugins and collectors of traces
"""
