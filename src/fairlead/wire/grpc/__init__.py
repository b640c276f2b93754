"""A gRPC client: for etcd, kms plugins and collectors of traces.

- `channel`: an endpoint and its connection; enter here
- `calls`: unary calls and streams of messages
- `http2`: frames, headers and flow control of a connection
- `failures`: calls that failed

It uses `base/` only.
"""
