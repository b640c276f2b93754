"""The CAs trusted for client certificates of one purpose, and verification of chains against them.

The TLS layer has the CAs of all purposes and rejects certificates that none of them issued. This
module decides for which purpose a certificate is valid.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import Certificate
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.user import User, credential_extra, with_authenticated_group
from fairlead.base.clock import time
from fairlead.base.dialect import Dialect
from fairlead.base.logs import Logger, Tally
from fairlead.resources.gates import Gates

logger: Final = Logger("fairlead.auth.authentication")

Chain = tuple[bytes, ...]  # DER certificates, the client's own first

_MAX_CACHED: Final = 4096
_MAX_PATH_LENGTH: Final = 8


class AuthorityError(ValueError):
    """An unusable CA file."""


class Untrusted(Exception):
    """A certificate that is not valid for the purpose; the text says why."""


class Subject(NamedTuple):
    """The subject of a trusted certificate, with its validity in unix time."""

    common_name: str
    organizations: tuple[str, ...]
    start: float
    end: float
    uids: tuple[str, ...] = ()
    fingerprint: str = ""  # SHA-256 of the certificate


class Authorities:
    """The CAs of one purpose, read from PEM files and reloaded when a file changes.

    `generation` increases with every change; then `listeners` are called.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._stamps: tuple[object, ...] = ()
        self._cache: dict[Chain, Subject | Untrusted] = {}
        self._certificates: list[Certificate] | None = None
        self.pem = ""
        self.generation = 0
        self.listeners: list[Callable[[], None]] = []
        self._unreadable = Tally(logger, logging.WARNING, "client CAs cannot be read again")
        self._load()

    def _load(self) -> None:
        stamps = tuple(_stamp(path) for path in self._paths)
        pem = "\n".join(_read(path) for path in self._paths)
        self._stamps = stamps
        if pem != self.pem:
            self.pem = pem
            self._certificates = None
            self._cache.clear()
            self.generation += 1
            for listener in self.listeners:
                listener()

    def reload(self) -> bool:
        """Read the files again if one of them changed. Keeps the previous CAs if a file is
        unreadable or malformed. Returns whether the CAs changed."""
        try:
            return self.read_again()
        except AuthorityError as error:
            self._unreadable.add("they stay in use as read before", str(error))
            return False

    def read_again(self) -> bool:
        """Like `reload`, but raises AuthorityError for an unusable file."""
        before = self.generation
        try:
            if tuple(_stamp(path) for path in self._paths) != self._stamps:
                self._load()
        except AuthorityError:
            self._stamps = ()
            raise
        return self.generation != before

    def subject(self, chain: Chain) -> Subject:
        """The subject of a client's chain; raises Untrusted. The result is cached, except for the
        validity period, which is checked on every call."""
        cached = self._cache.get(chain)
        if cached is None:
            cached = self._check_chain(chain)
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[chain] = cached
        if isinstance(cached, Untrusted):
            raise Untrusted(str(cached))
        now = time()
        if not cached.start <= now <= cached.end:
            raise Untrusted("the certificate has expired or is not yet valid")
        return cached

    def _check_chain(self, chain: Chain) -> Subject | Untrusted:
        if self._certificates is None:
            self._certificates = x509.load_pem_x509_certificates(self.pem.encode())
        try:
            parsed = [x509.load_der_x509_certificate(der) for der in chain]
            return _verify(parsed, self._certificates)
        except Untrusted as error:
            return error
        except (ValueError, x509.InvalidVersion):
            return Untrusted("the certificate is malformed")


def _stamp(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as error:
        raise AuthorityError(f"cannot read {path}: {error.strerror}") from None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _read(path: Path) -> str:
    """Read a file of certificates and check that all of them load."""
    try:
        content = path.read_text()
    except OSError as error:
        raise AuthorityError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise AuthorityError(f"{path} is not a PEM file") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=content)
    except (ssl.SSLError, ValueError):
        raise AuthorityError(f"{path} holds no usable PEM certificate") from None
    return content


def _verify(chain: Sequence[Certificate], trusted: Sequence[Certificate]) -> Subject:
    """The subject of the first certificate if a path leads from it to a trusted CA."""
    leaf = chain[0]
    _check_client_usage(leaf)
    path = _path([leaf], chain[1:], trusted)
    if path is None:
        raise Untrusted("the certificate was issued by an unknown authority")
    start = max(_moment(certificate.not_valid_before_utc) for certificate in path)
    end = min(_moment(certificate.not_valid_after_utc) for certificate in path)
    return _subject(leaf, start, end)


def _moment(value: datetime) -> float:
    return value.timestamp()


def _path(
    path: list[Certificate], others: Sequence[Certificate], trusted: Sequence[Certificate]
) -> list[Certificate] | None:
    """A path of issuers from the last certificate of `path` to a trusted one, or None."""
    last = path[-1]
    if last in trusted:
        return path
    for issuer in trusted:
        if _is_issuer(issuer, last, len(path) - 1):
            return [*path, issuer]
    if len(path) >= _MAX_PATH_LENGTH:
        return None
    for issuer in others:
        if issuer not in path and _is_issuer(issuer, last, len(path) - 1):
            rest_of_path = _path([*path, issuer], others, trusted)
            if rest_of_path is not None:
                return rest_of_path
    return None


def _is_issuer(issuer: Certificate, certificate: Certificate, below: int) -> bool:
    """Whether a CA issued a certificate with `below` intermediates under it."""
    if issuer.subject != certificate.issuer:
        return False
    try:
        basic = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
        if not basic.ca or (basic.path_length is not None and below > basic.path_length):
            return False
        usage = _extension(issuer, x509.KeyUsage)
        if isinstance(usage, x509.KeyUsage) and not usage.key_cert_sign:
            return False
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return True


def _extension(certificate: Certificate, kind: type) -> object | None:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None


def _check_client_usage(leaf: Certificate) -> None:
    purposes = _extension(leaf, x509.ExtendedKeyUsage)
    if isinstance(purposes, x509.ExtendedKeyUsage) and not {
        ExtendedKeyUsageOID.CLIENT_AUTH,
        ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    } & set(purposes):
        raise Untrusted("the certificate is not for client authentication")


def _subject(leaf: Certificate, start: float, end: float) -> Subject:
    def values(kind: object) -> list[str]:
        return [_as_text(part.value) for part in leaf.subject if part.oid == kind]

    names = values(NameOID.COMMON_NAME)
    organizations = tuple(values(NameOID.ORGANIZATION_NAME))
    fingerprint = leaf.fingerprint(SHA256()).hex()
    uids = tuple(values(_UID))
    return Subject(names[-1] if names else "", organizations, start, end, uids, fingerprint)


def _as_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode(errors="replace")


# Client certificates: the subject's common name is the user, its organizations are the groups.

_UID: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


class ClientCertificates:
    """In later releases the subject may have a uid, and the user shows the certificate's
    fingerprint."""

    def __init__(
        self, authorities: Authorities, dialect: Dialect | None = None, gates: Gates | None = None
    ) -> None:
        self._authorities = authorities
        gates = gates or Gates()
        self._reads_uid = gates["AllowParsingUserUIDFromCertAuth"]
        has_ids = dialect is not None and gates["CertificateCredentialID"]
        self._credential_extra = credential_extra(dialect) if dialect and has_ids else ""
        self._users: dict[Subject, User] = {}

    def authenticate(self, request: Credentials) -> User | None:
        peer = request.peer
        if not peer.certificates:
            return None
        if peer.problem:
            raise Rejected(f"x509: {peer.problem}")
        try:
            subject = self._authorities.subject(peer.certificates)
        except Untrusted as error:
            raise Rejected(f"x509: {error}") from None
        return self._user(subject) if subject.common_name else None

    def _user(self, subject: Subject) -> User:
        user = self._users.get(subject)
        if user is None:
            if len(self._users) >= 4096:
                self._users.clear()
            user = self._users[subject] = self._new_user(subject)
        return user

    def _new_user(self, subject: Subject) -> User:
        uid = ""
        if self._reads_uid and subject.uids:
            if len(subject.uids) > 1:
                raise Rejected("x509: the certificate has more than one UID")
            uid = subject.uids[0]
            if not uid:
                raise Rejected("x509: UID cannot be an empty string")
        extra: dict[str, tuple[str, ...]] = {}
        if self._credential_extra:
            extra[self._credential_extra] = (f"X509SHA256={subject.fingerprint}",)
        named = User(subject.common_name, uid, subject.organizations, extra)
        return with_authenticated_group(named)
