"""The server's own CA and the certificates it issues: at first start, and again before they
expire; the key of service account tokens, and kubeconfig files."""

from __future__ import annotations

import json
import os
import ssl
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from fairlead.base import clock
from fairlead.base.logs import Logger
from fairlead.process.certificates import issue
from fairlead.process.certificates.validity import Validity, validity_of
from fairlead.process.data_directory import (
    FileError,
    make_private_directory,
    read_private,
    write_private,
)

logger = Logger("fairlead")

_NAMES = ("ca", "serving", "admin", "front-proxy-ca", "front-proxy-client")
_BEGIN, _END = b"-----BEGIN ", b" PRIVATE KEY-----"
PROXY_NAME = "front-proxy-client"  # the common name of the certificate

Clock = Callable[[], datetime]


class Lifetimes(NamedTuple):
    """Lifetimes of new certificates."""

    ca: timedelta = timedelta(days=3650)
    others: timedelta = timedelta(days=365)


DEFAULT_LIFETIMES = Lifetimes()
# With `--testing`. Clients use the machine's time even if a test moves the server's clock, so
# certificates that are renewed by that clock would not be valid for them yet.
TESTING_LIFETIMES = Lifetimes(timedelta(days=365_000), timedelta(days=365_000))


def utc_now() -> datetime:
    return clock.now()


class Pair(NamedTuple):
    """The files of a certificate and its key."""

    certificate: Path
    key: Path

    def exists(self) -> bool:
        return self.certificate.exists() and self.key.exists()

    def check(self) -> Validity:
        """Return the validity of the certificate; raises FileError if the pair is unusable."""
        pem = read_private(self.certificate)
        read_private(self.key)
        check_pair(self.certificate, self.key)
        try:
            return validity_of(pem)
        except ValueError as error:
            raise FileError(f"{self.certificate}: {error}") from None

    def read(self) -> issue.Issued:
        return issue.Issued(read_private(self.certificate), read_private(self.key))

    def write(self, issued: issue.Issued) -> None:
        write_private(self.key, issued.key)
        write_private(self.certificate, issued.certificate)


def check_pair(certificate: Path, key: Path) -> None:
    """Raise FileError unless both files are readable and match."""
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
    """Raise an error instead of prompting on the terminal."""
    raise ValueError("the key is encrypted")


class Pki(NamedTuple):
    """The files below `<data-dir>/pki`."""

    ca: Pair
    serving: Pair
    admin: Pair
    proxy_ca: Pair  # signs no client certificates that this server accepts
    proxy_client: Pair  # the client certificate towards extension servers
    own_proxy: bool = True  # whether the own proxy CA issued proxy_client

    def with_proxy(self, pair: Pair) -> Pki:
        """Use a certificate for extension servers that another CA issued."""
        return self._replace(proxy_client=pair, own_proxy=False)


def pki_of(directory: Path) -> Pki:
    base = directory / "pki"
    ca, serving, admin, proxy_ca, proxy_client = (
        Pair(base / f"{name}.crt", base / f"{name}.key") for name in _NAMES
    )
    return Pki(ca, serving, admin, proxy_ca, proxy_client)


def ensure_pki(
    directory: Path,
    hosts: list[str],
    now: Clock = utc_now,
    lifetimes: Lifetimes = DEFAULT_LIFETIMES,
) -> Pki:
    """Issue each certificate that is missing, lacks a host, has less than a third of its lifetime
    left, is not valid yet, or was issued by a previous CA. Raises FileError. The caller must hold
    the lock of the data directory."""
    pki = pki_of(directory)
    make_private_directory(directory / "pki")
    _ensure_authority(pki, now(), lifetimes.ca)
    _ensure_issued(pki, hosts, now(), lifetimes.others)
    _ensure_proxy(pki, now(), lifetimes)
    return pki


def _ensure_issued(pki: Pki, hosts: list[str], now: datetime, life: timedelta) -> None:
    host_list = "\n".join(sorted(set(hosts)))
    remembered = pki.ca.certificate.with_name("serving.hosts")
    issuer = _Issuer(pki.ca, pki.ca.certificate.with_name("issuer"))
    same_issuer = issuer.is_the_same()
    same = same_issuer and _contains(remembered, host_list)
    if not same or _needs_renewal(pki.serving, now):
        renewed = pki.serving.exists()
        pki.serving.write(issue.issue_serving(pki.ca.read(), hosts, now, life))
        write_private(remembered, host_list.encode())
        if renewed:
            logger.info("a new serving certificate was issued", days=life.days)
    if not same_issuer or _needs_renewal(pki.admin, now):
        pki.admin.write(issue.issue_admin(pki.ca.read(), now, life))
    if not same_issuer:
        issuer.remember()


def _ensure_proxy(pki: Pki, now: datetime, lifetimes: Lifetimes) -> None:
    """Recreates a lost CA: extension servers read it from the config map."""
    ca, client = pki.proxy_ca, pki.proxy_client
    if _is_usable(ca):
        _renew_authority(ca, now, lifetimes.ca)
    else:
        ca.write(issue.make_authority("fairlead-front-proxy-ca", now, lifetimes.ca))
    issuer = _Issuer(ca, ca.certificate.with_name("front-proxy-issuer"))
    same_issuer = issuer.is_the_same()
    if not same_issuer or _needs_renewal(client, now):
        client.write(issue.issue_client(ca.read(), PROXY_NAME, (), now, lifetimes.others))
    if not same_issuer:
        issuer.remember()


class _Issuer:
    """Remembers, in a file, the digest of the CA that issued the other certificates."""

    def __init__(self, ca: Pair, file: Path) -> None:
        self._file = file
        self._digest = sha256(read_private(ca.certificate)).hexdigest()

    def is_the_same(self) -> bool:
        return _contains(self._file, self._digest)

    def remember(self) -> None:
        write_private(self._file, self._digest.encode())


def _contains(path: Path, text: str) -> bool:
    return path.exists() and read_private(path).decode() == text


def _ensure_authority(pki: Pki, now: datetime, life: timedelta) -> None:
    ca = pki.ca
    if not ca.exists():
        _check_first_start(pki)
        ca.write(issue.make_authority("fairlead-ca", now, life))
    else:
        _renew_authority(ca, now, life)


def _renew_authority(ca: Pair, now: datetime, life: timedelta) -> None:
    if ca.check().is_to_be_renewed(now):
        logger.info("a CA is renewed; its key stays the same", file=ca.certificate)
        ca.write(issue.renew_authority(ca.read(), now, life))


def _check_first_start(pki: Pki) -> None:
    """Raise FileError if the CA is lost but certificates exist: clients would not trust a new CA. A
    key alone is left over from an interrupted first start."""
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
    return not _is_usable(pair) or pair.check().is_to_be_renewed(now)


def _is_usable(pair: Pair) -> bool:
    if not pair.exists():
        return False
    try:
        pair.check()
    except FileError as error:
        logger.warning("a certificate is created again", err=error)
        return False
    return True


# The key that signs service account tokens.


def ensure_service_account_key(directory: Path) -> Path:
    """Return the file of the signing key below the data directory; creates it if it is missing.
    Raises FileError."""
    path = directory / "pki" / "service-account.key"
    if path.exists() or path.is_symlink():
        content = read_private(path)
        if _BEGIN not in content or not content.rstrip().endswith(_END):
            raise FileError(f"{path} is not a PEM private key")
        return path
    make_private_directory(path.parent)
    write_private(path, issue.new_key())
    if (directory / "admin.kubeconfig").exists():
        logger.warning(
            "a missing key has been created: tokens that were issued before are invalid", file=path
        )
    return path


# Kubeconfig files, such as that of the admin user.


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
