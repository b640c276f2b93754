"""The client configuration file of the admin user."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from fairlead.server.certificates import Pki
from fairlead.server.files import read_private, write_private


def write_admin_config(path: Path, server: str, pki: Pki, name: str) -> None:
    """Write a self-contained file; JSON is YAML, and no emitter is needed for it. Raises
    FileError."""

    def data(file: Path) -> str:
        return b64encode(read_private(file)).decode()

    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": data(pki.ca.certificate),
                },
            }
        ],
        "users": [
            {
                "name": "admin",
                "user": {
                    "client-certificate-data": data(pki.admin.certificate),
                    "client-key-data": data(pki.admin.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "admin"}}],
        "current-context": name,
    }
    content = json.dumps(config, indent=2).encode() + b"\n"
    if path.is_symlink() or not path.exists() or read_private(path) != content:
        write_private(path, content)
