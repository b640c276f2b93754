"""The configuration of a process in a pod."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client.access.files import Entry

ROOT = Path("/var/run/secrets")


class Surroundings(NamedTuple):
    """The server in a pod's environment, and the directory of its service account files."""

    server: str
    directory: Path

    def cluster(self) -> Entry:
        fields = {"server": self.server}
        if (self.directory / "ca.crt").exists():
            fields["certificate-authority"] = "ca.crt"
        return Entry(fields, self.directory / "token")

    def user(self) -> Entry:
        """A user with the token file, which is read again after rotation."""
        return Entry({"tokenFile": "token"}, self.directory / "token")

    def namespace(self) -> str:
        try:
            return (self.directory / "namespace").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""


def surroundings() -> Surroundings | None:
    """The environment of a pod in either dialect; None outside of a pod."""
    for dialect in (KUBERNETES, CLUSTER):
        service = f"{dialect.own_service.upper()}_SERVICE"
        host, port = os.environ.get(f"{service}_HOST"), os.environ.get(f"{service}_PORT")
        directory = ROOT / dialect.label("@") / "serviceaccount"
        if host and port and (directory / "token").is_file():
            shown = f"[{host}]" if ":" in host else host
            return Surroundings(f"https://{shown}:{port}", directory)
    return None
