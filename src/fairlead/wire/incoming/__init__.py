"""HTTP/1.1 on the socket: strict in what it reads, bounded in what it holds.

- `connections`: all connections of a server, their number and their deadlines
- `protocol`: one connection: read a request, answer it, then look at the next
- `parser`: bytes to request heads and bodies
- `exchange`: one request and its answer, as the application sees them
- `tls`, `tls_records`: TLS between the TCP transport and the protocol
- `websocket`: frames of RFC 6455
- `limits`, `holdings`: how much of everything a client may use, and all clients together
- `eager_tasks`: run a coroutine until it first waits before making a task of it
"""
