"""The server's own CA and the certificates it makes: at first start, and again before they end."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead import clock
from fairlead.server.files import FileError, make_private_directory, read_private, write_private
from fairlead.server.validity import Validity, validity_of

if TYPE_CHECKING:  # imported when something has to be made
    from fairlead.server.issuing import Issued

logger = logging.getLogger("fairlead")

_NAMES = ("ca", "serving", "admin")

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Of what is made."""

    ca: timedelta = timedelta(days=3650)
    others: timedelta = timedelta(days=365)


USUAL = Lifetimes()
# Clients go by the time of the machine, wherever a test moves the clock of the server: what is
# renewed by that clock would not be good yet.
BEYOND_ALL_MOVES = Lifetimes(timedelta(days=365_000), timedelta(days=365_000))


def utc_now() -> datetime:
    return clock.now()


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files."""

    certificate: Path
    key: Path

    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()

    def check(self) -> Validity:
        """Between which times the pair is good; raises FileError if it cannot be used at all."""
        pem = read_private(self.certificate)
        read_private(self.key)
        check_pair(self.certificate, self.key)
        try:
            return validity_of(pem)
        except ValueError as error:
            raise FileError(f"{self.certificate}: {error}") from None

    def read(self) -> Issued:
        from fairlead.server.issuing import Issued

        return Issued(read_private(self.certificate), read_private(self.key))

    def write(self, issued: Issued) -> None:
        write_private(self.key, issued.key)
        write_private(self.certificate, issued.certificate)


def check_pair(certificate: Path, key: Path) -> None:
    """Raises FileError unless both can be read and belong together."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, _no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise FileError(f"{key} is not the key of {certificate}") from None
        raise FileError(f"{certificate} or {key} is malformed") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(f"cannot load {certificate} and {key}: {why}") from None


def _no_password() -> str:
    """Instead of a question on the terminal."""
    raise ValueError("the key is encrypted")


@dataclass(frozen=True, slots=True)
class Pki:
    """Everything below `<data-dir>/pki`."""

    ca: Pair
    serving: Pair
    admin: Pair


def pki_of(directory: Path) -> Pki:
    base = directory / "pki"
    return Pki(*(Pair(base / f"{name}.crt", base / f"{name}.key") for name in _NAMES))


def ensure_pki(
    directory: Path, hosts: list[str], now: Clock = utc_now, lifetimes: Lifetimes = USUAL
) -> Pki:
    """Make what is missing, what lacks a host, what has less than a third of its time left and
    what another CA issued, whose place this one took. Raises FileError. Only for who holds the
    lock of the data directory."""
    pki, life = pki_of(directory), lifetimes.others
    make_private_directory(directory / "pki")
    _ensure_authority(pki, now(), lifetimes.ca)
    wanted = "\n".join(sorted(set(hosts)))
    remembered = directory / "pki" / "serving.hosts"
    issuer = directory / "pki" / "issuer"
    digest = sha256(read_private(pki.ca.certificate)).hexdigest()
    same_issuer = _says(issuer, digest)
    same = same_issuer and _says(remembered, wanted)
    if not same or _needs_renewal(pki.serving, now()):
        from fairlead.server.issuing import issue_serving

        renewed = pki.serving.exists()
        pki.serving.write(issue_serving(pki.ca.read(), hosts, now(), life))
        write_private(remembered, wanted.encode())
        if renewed:
            logger.info("the own serving certificate is new and good for %d days", life.days)
    if not same_issuer or _needs_renewal(pki.admin, now()):
        from fairlead.server.issuing import issue_admin

        pki.admin.write(issue_admin(pki.ca.read(), now(), life))
    if not same_issuer:
        write_private(issuer, digest.encode())
    return pki


def _says(path: Path, text: str) -> bool:
    return path.exists() and read_private(path).decode() == text


def _ensure_authority(pki: Pki, now: datetime, life: timedelta) -> None:
    ca = pki.ca
    if not ca.exists():
        _check_first_start(pki)
        from fairlead.server.issuing import make_authority

        ca.write(make_authority("fairlead-ca", now, life))
    elif ca.check().is_running_out(now):
        from fairlead.server.issuing import renew_authority

        logger.info("the own CA is renewed; its key stays the same")
        ca.write(renew_authority(ca.read(), now, life))


def _check_first_start(pki: Pki) -> None:
    """A CA that got lost is not replaced: nobody would trust the new one. A key alone is what a
    first start leaves that was interrupted."""
    files = (pki.ca.certificate, pki.serving.certificate, pki.admin.certificate)
    left = [path for path in files if os.path.lexists(path)]
    if not left:
        return
    lost = pki.ca.key if left[0] == pki.ca.certificate else pki.ca.certificate
    raise FileError(
        f"{lost} is missing beside {left[0].name}: restore it, or remove {lost.parent} to start"
        " with new certificates, which clients have to be given again"
    )


def _needs_renewal(pair: Pair, now: datetime) -> bool:
    if not pair.exists():
        return True
    try:
        return pair.check().is_running_out(now)
    except FileError as error:
        logger.warning("%s; it is made anew", error)
        return True
