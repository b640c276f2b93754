"""Calls to other servers, all under one policy.

- `client`: one HTTP call with deadlines and bounds
- `webhooks`: the webhooks that objects name, by URL or as a service
- `connection`, `conversation`, `pool`, `posts`, `tunnel`: connections, keep-alive pools, tunnels
- `dialer`, `tls`: connecting, TLS contexts
- `handshake`, `trust`, `certificates`: verification of server certificates
- `addresses`, `cluster`: which addresses users may reach, and how they are reached
- `client_config`, `json_calls`, `answers`, `flags`: kubeconfig files, calls in JSON, flags
"""
