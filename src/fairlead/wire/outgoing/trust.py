"""Verifies server certificates by the rules of Go's crypto/x509, which the reference uses.

OpenSSL differs in some cases, and no option changes that: it treats a certificate with the same
subject as its issuer as self-signed, it compares key identifiers, and it rejects short keys. So
outgoing connections skip OpenSSL's verification (`wire/outgoing/handshake.py`), and the server's
chain is verified here:

- every certificate of a bundle is an anchor, even one of a server or an intermediate authority;
- an issuer is found by its subject and proven by the signature;
- only subject alternative names count as names;
- dates, path length, name constraints and extended key usage are checked along the path.

The number of signature checks in the search for a path is bounded.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from fairlead.base.quotes import quote
from fairlead.wire.outgoing.certificates import (
    Address,
    Certificate,
    certificate_blocks,
    plain_address,
)
from fairlead.wire.outgoing.tls import Untrusted

_MAX_SIGNATURE_CHECKS = 100
_MAX_CONSTRAINT_CHECKS = 10_000

_UNKNOWN_AUTHORITY = "x509: certificate signed by unknown authority"
_UNHANDLED_EXTENSION = "x509: unhandled critical extension"
_NOT_AUTHORIZED_TO_SIGN = "x509: certificate is not authorized to sign other certificates"
_CANNOT_SIGN = "x509: invalid signature: parent certificate cannot sign this kind of certificate"
_TOO_MANY_INTERMEDIATES = "x509: too many intermediates for path length constraint"
_TOO_MANY_CHECKS = "x509: signature check attempts limit reached while verifying certificate chain"
_WRONG_USAGE = "x509: certificate specifies an incompatible key usage"
_LEGACY_NAME = "x509: certificate relies on legacy Common Name field, use SANs instead"
_NOT_FOR_THIS_NAME = (
    "x509: a root or intermediate certificate is not authorized to sign for this name: "
)

# Signature algorithms by the type of key they need.
_RSA, _ECDSA, _ED25519 = "RSA", "ECDSA", "Ed25519"
_PSS = "1.2.840.113549.1.1.10"
_SIGNATURES = {
    "1.2.840.113549.1.1.11": _RSA,
    "1.2.840.113549.1.1.12": _RSA,
    "1.2.840.113549.1.1.13": _RSA,
    _PSS: _RSA,
    "1.2.840.10045.4.3.2": _ECDSA,
    "1.2.840.10045.4.3.3": _ECDSA,
    "1.2.840.10045.4.3.4": _ECDSA,
    "1.3.101.112": _ED25519,
}
_PSS_HASHES = ("sha256", "sha384", "sha512")
_OVERRIDE = " (temporarily override with GODEBUG=x509sha1=1)"
_INSECURE_SIGNATURES = {
    "1.2.840.113549.1.1.4": "MD5-RSA",
    "1.2.840.113549.1.1.5": f"SHA1-RSA{_OVERRIDE}",
    "1.2.840.10045.4.1": f"ECDSA-SHA1{_OVERRIDE}",
    "1.2.840.10040.4.3": "DSA-SHA1",
}
_WRONG_SIGNATURE = {
    _RSA: "crypto/rsa: verification error",
    _ECDSA: "x509: ECDSA verification failure",
    _ED25519: "x509: Ed25519 verification failure",
}
_KEY_TYPES: tuple[tuple[type, str, str], ...] = (
    (RSAPublicKey, _RSA, "*rsa.PublicKey"),
    (EllipticCurvePublicKey, _ECDSA, "*ecdsa.PublicKey"),
    (Ed25519PublicKey, _ED25519, "ed25519.PublicKey"),
)

_LABEL = "[a-zA-Z0-9_][-a-zA-Z0-9_]*"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_PATTERN = re.compile(rf"(?:\*|{_LABEL})(?:\.{_LABEL})*")


@cache
def _system_trust(file: str | None, directory: str | None) -> Trust:
    files = [Path(file)] if file is not None else []
    contents: dict[bytes, None] = {}  # the same certificate is often in several files
    with suppress(OSError):
        files += sorted(Path(directory).iterdir()) if directory is not None else []
    for path in files:
        with suppress(OSError):
            contents.update(dict.fromkeys(certificate_blocks(path.read_bytes())))
    certificates = []
    for der in contents:
        with suppress(ValueError):
            certificates.append(Certificate(der))
    return Trust(certificates)


def system_trust() -> Trust:
    """Return the system's CAs, which are read once."""
    paths = ssl.get_default_verify_paths()
    return _system_trust(paths.cafile, paths.capath)


class Trust:
    """A set of anchors: trusted certificates."""

    def __init__(self, anchors: Iterable[Certificate]) -> None:
        self._by_der: dict[bytes, Certificate] = {anchor.der: anchor for anchor in anchors}
        self._by_subject = _by_subject(self._by_der.values())

    def check(self, chain: Sequence[bytes], name: str, now: datetime | None = None) -> None:
        """Verify a server's chain (DER, its own certificate first) for a name. Raises Untrusted."""
        try:
            leaf, *intermediates = [Certificate(der) for der in chain]
        except ValueError as error:
            reason = f"tls: failed to parse certificate from server: {error}"
            raise Untrusted(reason) from None
        search = _Search(self._by_subject, _by_subject(intermediates), now or datetime.now(UTC))
        search.check_valid(leaf, ())
        _check_name(leaf, name)
        paths = [(leaf,)] if leaf.der in self._by_der else search.paths((leaf,))
        if not any(_is_for_servers(path) for path in paths):
            raise Untrusted(_WRONG_USAGE)


def _by_subject(certificates: Iterable[Certificate]) -> dict[bytes, list[Certificate]]:
    by_subject: dict[bytes, list[Certificate]] = {}
    for certificate in certificates:
        by_subject.setdefault(certificate.subject, []).append(certificate)
    return by_subject


_Path = tuple[Certificate, ...]


class _Search:
    """The search for paths from a server's certificate to anchors."""

    def __init__(
        self,
        anchors: dict[bytes, list[Certificate]],
        intermediates: dict[bytes, list[Certificate]],
        now: datetime,
    ) -> None:
        self._anchors = anchors
        self._intermediates = intermediates
        self._now = now
        self._checks = 0

    def paths(self, path: _Path) -> list[_Path]:
        """Return all continuations of a path that end at an anchor; raises Untrusted if there are
        none."""
        paths: list[_Path] = []
        failure: Untrusted | None = None
        hint = ""
        for candidate, is_anchor in self._issuers(path[-1]):
            if any(candidate.has_same_identity(earlier) for earlier in path):
                continue
            self._checks += 1
            if self._checks > _MAX_SIGNATURE_CHECKS:
                failure = Untrusted(_TOO_MANY_CHECKS)
                break
            problem = _signature_problem(path[-1], candidate)
            if problem:
                hint = hint or (
                    f" (possibly because of {quote(problem)} while trying to verify candidate"
                    f" authority certificate {quote(candidate.shown_name)})"
                )
                continue
            try:
                self.check_valid(candidate, path, must_be_authority=not is_anchor)
                extended = (*path, candidate)
                paths += [extended] if is_anchor else self.paths(extended)
            except Untrusted as error:
                failure = error
        if not paths:
            raise failure or Untrusted(_UNKNOWN_AUTHORITY + hint)
        return paths

    def _issuers(self, child: Certificate) -> Iterator[tuple[Certificate, bool]]:
        """Yield possible issuers of a certificate, the likeliest first, and whether each is an
        anchor."""

        def unlikely(issuer: Certificate) -> int:
            if issuer.key_id == child.issuer_key_id:
                return 0
            return 1 if not issuer.key_id or not child.issuer_key_id else 2

        for pool in (self._anchors, self._intermediates):
            for issuer in sorted(pool.get(child.issuer, ()), key=unlikely):
                yield issuer, pool is self._anchors

    def check_valid(
        self, certificate: Certificate, path: _Path, must_be_authority: bool = False
    ) -> None:
        """Check that a certificate may follow at the end of a path; raises Untrusted."""
        if certificate.has_unhandled_extension:
            raise Untrusted(_UNHANDLED_EXTENSION)
        self._check_dates(certificate.parsed)
        if path and certificate.constraints is not None:
            _check_constraints(certificate, certificate.constraints, path[0])
        basic = certificate.basic
        if must_be_authority and (basic is None or not basic.ca):
            raise Untrusted(_NOT_AUTHORIZED_TO_SIGN)
        max_length = basic.path_length if basic is not None else None
        if max_length is not None and len(path) - 1 > max_length:
            raise Untrusted(_TOO_MANY_INTERMEDIATES)

    def _check_dates(self, certificate: x509.Certificate) -> None:
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if first <= self._now <= last:
            return
        position = (
            f"before {_format_time(first)}" if self._now < first else f"after {_format_time(last)}"
        )
        raise Untrusted(
            "x509: certificate has expired or is not yet valid:"
            f" current time {_format_time(self._now)} is {position}"
        )


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _signature_problem(child: Certificate, issuer: Certificate) -> str:
    """Return the reason why a certificate is not signed by an issuer; empty if it is."""
    basic, usage = issuer.basic, issuer.key_usage
    if not basic.ca if basic is not None else issuer.parsed.version == x509.Version.v3:
        return _CANNOT_SIGN
    if usage is not None and not usage.key_cert_sign:
        return _CANNOT_SIGN
    algorithm = child.parsed.signature_algorithm_oid.dotted_string
    if algorithm in _INSECURE_SIGNATURES:
        name = _INSECURE_SIGNATURES[algorithm]
        return f"x509: cannot verify signature: insecure algorithm {name}"
    kind = _SIGNATURES.get(algorithm, "")
    key_type = next((entry for entry in _KEY_TYPES if isinstance(issuer.key, entry[0])), None)
    if not kind or key_type is None or (algorithm == _PSS and not _has_usual_hash(child.parsed)):
        return "x509: cannot verify signature: algorithm unimplemented"
    if key_type[1] != kind:
        return (
            f"x509: signature algorithm specifies an {kind} public key,"
            f" but have public key of type {key_type[2]}"
        )
    try:
        child.parsed.verify_directly_issued_by(issuer.parsed)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return _WRONG_SIGNATURE[kind]
    return ""


def _has_usual_hash(certificate: x509.Certificate) -> bool:
    try:
        algorithm = certificate.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return False
    return algorithm is not None and algorithm.name in _PSS_HASHES


def _is_for_servers(path: _Path) -> bool:
    accepted = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    return all(not certificate.usages or certificate.usages & accepted for certificate in path)


# Names


def _check_name(certificate: Certificate, name: str) -> None:
    """Check that a certificate is valid for a name or an address; raises Untrusted."""
    host = name[1:-1] if len(name) > 2 and name[0] == "[" and name[-1] == "]" else name
    address = _address(host)
    if address is not None:
        if address not in certificate.addresses:
            raise Untrusted(_name_problem(certificate, host, address))
        return
    lowered = name.lower()
    is_host = _HOST.fullmatch(lowered) is not None
    for pattern in certificate.dns_names:
        if is_host and _PATTERN.fullmatch(pattern):
            if _matches(pattern, lowered):
                return
        elif pattern.lower() == lowered and lowered not in ("", "."):
            return
    raise Untrusted(_name_problem(certificate, name, None))


def _address(text: str) -> Address | None:
    try:
        return plain_address(ip_address(text)) if "%" not in text else None
    except ValueError:
        return None


def _matches(pattern: str, host: str) -> bool:
    """Whether a host matches a pattern, which may have `*` as its whole first label."""
    first, _, rest = pattern.lower().partition(".")
    first_label, _, rest_of_host = host.lower().removesuffix(".").partition(".")
    return bool(first_label) and rest == rest_of_host and first in ("*", first_label)


def _name_problem(certificate: Certificate, host: str, address: Address | None) -> str:
    if not certificate.has_names and _matches(certificate.common_name, host):
        return _LEGACY_NAME
    if address is not None:
        names = [str(address_name) for address_name in certificate.addresses]
        if not names:
            return (
                f"x509: cannot validate certificate for {host}"
                " because it doesn't contain any IP SANs"
            )
    else:
        names = certificate.dns_names
    listed = ", ".join(names)
    if not listed:
        return f"x509: certificate is not valid for any names, but wanted to match {host}"
    return f"x509: certificate is valid for {listed}, not {host}"


# Name constraints


def _check_constraints(
    authority: Certificate, constraints: x509.NameConstraints, leaf: Certificate
) -> None:
    """Check that an authority may sign for all names of a server and of itself; raises Untrusted.
    Constraints on directory names are not supported."""
    permitted = list(constraints.permitted_subtrees or ())
    excluded = list(constraints.excluded_subtrees or ())
    checks = 0
    for name in (*leaf.names, *authority.names):
        kind = next((kind for kind in _CONSTRAINED if isinstance(name, kind)), None)
        if kind is None:
            continue
        word, matches = _CONSTRAINED[kind]
        described = f"{word} {quote(str(name.value))}"
        permitted_of_kind = [constraint for constraint in permitted if isinstance(constraint, kind)]
        excluded_of_kind = [constraint for constraint in excluded if isinstance(constraint, kind)]
        checks += len(permitted_of_kind) + len(excluded_of_kind)
        if checks > _MAX_CONSTRAINT_CHECKS:
            raise Untrusted("x509: unknown error")
        for constraint in excluded_of_kind:
            if matches(name.value, constraint.value):
                reason = f"{described} is excluded by constraint {quote(str(constraint.value))}"
                raise Untrusted(_NOT_FOR_THIS_NAME + reason)
        if permitted_of_kind and not any(
            matches(name.value, constraint.value) for constraint in permitted_of_kind
        ):
            raise Untrusted(f"{_NOT_FOR_THIS_NAME}{described} is not permitted by any constraint")


def _is_in_domain(domain: str, constraint: str) -> bool:
    """Whether a name equals a domain or is below it; a leading period requires below."""
    if not constraint:
        return True
    labels = domain.lower().split(".") if domain else []
    if not all(labels):
        raise Untrusted(f"x509: cannot parse dnsName {quote(domain)}")
    parents = constraint.lower().removeprefix(".").split(".")
    minimum = len(parents) + constraint.startswith(".")
    return len(labels) >= minimum and labels[-len(parents) :] == parents


def _is_in_mailbox(mailbox: str, constraint: str) -> bool:
    local, _, domain = mailbox.rpartition("@")
    if "@" in constraint:
        required_local, _, required_domain = constraint.rpartition("@")
        return local == required_local and domain.lower() == required_domain.lower()
    return _is_in_domain(domain, constraint)


def _is_in_uri_domain(uri: str, constraint: str) -> bool:
    try:
        host = urlsplit(uri).hostname or ""
    except ValueError:
        host = ""
    if not host or _address(host) is not None:
        description = f"URI with {'IP' if host else 'empty host'} ({quote(uri)})"
        raise Untrusted(f"{_NOT_FOR_THIS_NAME}{description} cannot be matched against constraints")
    return _is_in_domain(host, constraint)


def _is_in_network(address: Any, network: Any) -> bool:
    return bool(address.version == network.version and address in network)


_CONSTRAINED: dict[type[x509.GeneralName], tuple[str, Callable[[Any, Any], bool]]] = {
    x509.RFC822Name: ("email address", _is_in_mailbox),
    x509.DNSName: ("DNS name", _is_in_domain),
    x509.UniformResourceIdentifier: ("URI", _is_in_uri_domain),
    x509.IPAddress: ("IP address", _is_in_network),
}
