"""Calls out to other servers, all under one policy.

- `client`: one HTTP call with deadlines and bounds
- `webhooks`: the webhooks that objects name, by URL or as a service
- `connection`, `conversation`, `pool`, `posts`, `tunnel`: connections that are kept open or joined
- `dialer`, `tls`, `trust`, `certificates`: connecting, and whether a certificate is trusted
- `addresses`, `cluster`: what may be reached on behalf of users, and how
- `client_config`, `json_calls`, `answers`, `flags`: kubeconfig files, calls in JSON, flags
"""
