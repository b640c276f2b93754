"""The configuration that a process finds which runs in a pod."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fairlead.client.access.model import AccessError
from fairlead.dialect import CLUSTER, KUBERNETES
from fairlead.outgoing.client_config import ClientConfig

ROOT = Path("/var/run/secrets")


class Surroundings(NamedTuple):
    """A server that a pod is told of, and the files of its service account."""

    server: str
    directory: Path

    def place(self) -> ClientConfig:
        """With a token file that is read again as it is renewed; raises AccessError."""
        authority = self.directory / "ca.crt"
        try:
            ca = authority.read_bytes() if authority.exists() else b""
        except OSError as error:
            raise AccessError(f"cannot read {authority}: {error.strerror}") from None
        return ClientConfig(self.server, ca=ca, token_file=self.directory / "token")

    def namespace(self) -> str:
        try:
            return (self.directory / "namespace").read_text().strip()
        except OSError:
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
