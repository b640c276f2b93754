"""The HTTP client: calls to other servers, all under one policy.

Webhooks, relays to pods, nodes and extension servers, identity providers and the client library all
use the same `Pool` of connections.

- `client`: calls to URLs, each with a deadline and a bound
- `json_calls`, `webhooks`: calls in JSON, and to the webhooks that objects name
- `request`, `response`: routes and encoded requests; responses and the errors of calls
- `pool`, `connection`, `dialer`: keep-alive connections, the parser of responses, connecting
- `tls`, `handshake`, `trust`, `certificates`: TLS contexts, verification of server certificates
- `addresses`, `cluster`: which addresses users may reach, and how pods and nodes are reached
- `tunnel`: joins two connections after an upgrade
- `websocket`: the client's end of a WebSocket
- `client_config`, `flags`: kubeconfig files and command line flags
"""
