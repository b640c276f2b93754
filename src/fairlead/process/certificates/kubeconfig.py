"""Kubeconfig files, such as that of the admin user."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

from fairlead.process.certificates.authority import Pki
from fairlead.process.data_directory import read_private, write_private


def write_admin_config(path: Path, server: str, pki: Pki, name: str) -> None:
    """Write the kubeconfig of the admin, if it changed. Raises FileError."""
    ca = read_private(pki.ca.certificate)
    user = certificate_fields(read_private(pki.admin.certificate), read_private(pki.admin.key))
    content = self_contained(server, ca, user, name, "admin")
    if path.is_symlink() or not path.exists() or read_private(path) != content:
        write_private(path, content)


def self_contained(
    server: str,
    ca: bytes,
    user: Mapping[str, str],
    name: str = "fairlead",
    user_name: str = "user",
    namespace: str = "",
) -> bytes:
    """Return a kubeconfig with embedded certificates. It is JSON, which is valid YAML, so no YAML
    writer is needed."""
    context = {"cluster": name, "user": user_name}
    if namespace:
        context["namespace"] = namespace
    cluster = {"server": server, "certificate-authority-data": b64encode(ca).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": user_name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def certificate_fields(certificate: bytes, key: bytes) -> dict[str, str]:
    """Return the fields of a user with a client certificate; both arguments are PEM."""
    return {
        "client-certificate-data": b64encode(certificate).decode(),
        "client-key-data": b64encode(key).decode(),
    }
