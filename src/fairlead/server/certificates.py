"""The server's own CA and the certificates it makes at first start."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

_YEARS = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path

    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()


@dataclass(frozen=True, slots=True)
class Pki:
    """Everything below `<data-dir>/pki`."""

    ca: Pair
    serving: Pair
    admin: Pair


def pki_of(directory: Path) -> Pki:
    base = directory / "pki"
    return Pki(*(Pair(base / f"{name}.crt", base / f"{name}.key") for name in _NAMES))


_NAMES = ("ca", "serving", "admin")


def ensure_pki(directory: Path, hosts: list[str]) -> Pki:
    """Make what is missing. The serving certificate is made anew when it lacks a host."""
    pki = pki_of(directory)
    wanted = "\n".join(sorted(set(hosts)))
    remembered = directory / "pki" / "serving.hosts"
    same_hosts = remembered.exists() and remembered.read_text() == wanted
    if pki.ca.exists() and pki.serving.exists() and pki.admin.exists() and same_hosts:
        return pki
    from fairlead.server.issuing import issue_admin, issue_serving, make_authority

    pki.ca.certificate.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not pki.ca.exists():
        make_authority(pki.ca, "fairlead-ca", _YEARS)
    if not pki.admin.exists():
        issue_admin(pki.ca, pki.admin, _YEARS)
    issue_serving(pki.ca, pki.serving, hosts, _YEARS)
    remembered.write_text(wanted)
    return pki


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def valid_from() -> datetime:
    """A little in the past, for clients whose clock is behind."""
    return datetime.now(UTC) - timedelta(minutes=5)


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
