"""The configuration that a process finds which runs in a pod."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.client.access.files import Entry

ROOT = Path("/var/run/secrets")


class Surroundings(NamedTuple):
    """A server that a pod is told of, and the folder of its service account's files."""

    server: str
    directory: Path

    def cluster(self) -> Entry:
        fields = {"server": self.server}
        if (self.directory / "ca.crt").exists():
            fields["certificate-authority"] = "ca.crt"
        return Entry(fields, self.directory / "token")

    def user(self) -> Entry:
        """The token, which is read again as it is renewed."""
        return Entry({"tokenFile": "token"}, self.directory / "token")

    def namespace(self) -> str:
        try:
            return (self.directory / "namespace").read_text().strip()
        except (OSError, UnicodeDecodeError):
            return ""


def surroundings() -> Surroundings | None:
    """Those of a pod, whichever names its cluster goes by; None outside of one."""
    for dialect in (KUBERNETES, CLUSTER):
        service = f"{dialect.own_service.upper()}_SERVICE"
        host, port = os.environ.get(f"{service}_HOST"), os.environ.get(f"{service}_PORT")
        directory = ROOT / dialect.label("@") / "serviceaccount"
        if host and port and (directory / "token").is_file():
            shown = f"[{host}]" if ":" in host else host
            return Surroundings(f"https://{shown}:{port}", directory)
    return None
