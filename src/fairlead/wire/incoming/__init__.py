"""The HTTP/1.1 server: strict parsing, bounded memory.

- `connections`: all connections of a server, their number and their deadlines
- `protocol`: one connection: read a request, answer it, then read the next
- `parser`: bytes to request heads and bodies
- `exchange`: one request and its answer, as the application sees them
- `transfer`: reading bodies and sending large answers, which may wait
- `tls`, `batches`: TLS between the socket and the protocol, for all connections at once
- `websocket`: frames of RFC 6455
- `limits`: limits per client, and on the memory of all clients together
"""
