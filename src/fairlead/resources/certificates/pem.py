"""Parses PEM blocks and checks the signing request or certificates in them."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.x509 import (
    CertificateSigningRequest,
    InvalidVersion,
    load_der_x509_certificate,
    load_der_x509_csr,
)

_HEADER = re.compile(rb"[^\n:]+:[^\n]*\n")
_SEQUENCE = 16


@dataclass(frozen=True, slots=True)
class Block:
    kind: str
    has_headers: bool
    der: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """The PEM blocks of a text; other text and blocks that are not base64 are skipped."""
    for kind, body in pem_blocks(data):
        start = 0
        while header := _HEADER.match(body, start):
            start = header.end()
        try:
            der = b64decode(b"".join(body[start:].split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        yield Block(kind, start > 0, der)


def request_error(data: bytes) -> str:
    """Why data is not a PEM block with a signed PKCS#10 request; empty if it is."""
    block = next(blocks(data), None)
    if block is None or block.kind != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    return _outer_error(block.der, "certificateRequest") or _signature_error(block.der)


def certificate_error(data: bytes) -> str:
    """Why data is not one or more PEM blocks of certificates; empty if it is."""
    count = 0
    for block in blocks(data):
        count += 1
        error = _certificate_block_error(block)
        if error:
            return error
    return "" if count else "must contain at least one CERTIFICATE PEM block"


def _certificate_block_error(block: Block) -> str:
    if block.kind != "CERTIFICATE":
        return f'only CERTIFICATE PEM blocks are allowed, found "{block.kind}"'
    if block.has_headers:
        return "no PEM block headers are permitted"
    if not block.der:
        return "found CERTIFICATE PEM block containing 0 certificates"
    try:
        load_der_x509_certificate(block.der)
    except (ValueError, InvalidVersion):
        return "x509: malformed certificate"
    return ""


def _signature_error(der: bytes) -> str:
    try:
        request = load_der_x509_csr(der)
        if request.is_signature_valid or _is_signed_by_sha1(request):
            return ""
        key = request.public_key()
    except (ValueError, InvalidVersion):
        return "asn1: structure error: malformed certificate request"
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    return (
        "crypto/rsa: verification error"
        if isinstance(key, RSAPublicKey)
        else ("x509: signature verification failure")
    )


def _is_signed_by_sha1(request: CertificateSigningRequest) -> bool:
    """Verify a SHA-1 signature, which the library no longer does. SHA-1 is sufficient for a
    request."""
    key, algorithm = request.public_key(), request.signature_hash_algorithm
    if not isinstance(algorithm, SHA1):
        return False
    signature, signed = request.signature, request.tbs_certrequest_bytes
    try:
        if isinstance(key, RSAPublicKey):
            key.verify(signature, signed, PKCS1v15(), algorithm)
        elif isinstance(key, EllipticCurvePublicKey):
            key.verify(signature, signed, ECDSA(algorithm))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _outer_error(der: bytes, name: str) -> str:
    """The message of the reference's decoder for data that does not start with an ASN.1
    sequence."""
    if not der:
        return "asn1: syntax error: sequence truncated"
    first, header = der[0], 2
    length = der[1] if len(der) > 1 else 0
    if length & 0x80:
        more = length & 0x7F
        length, header = int.from_bytes(der[2 : 2 + more]), 2 + more
    if first != 0x20 | _SEQUENCE:
        compound = "true" if first & 0x20 else "false"
        return (
            f"asn1: structure error: tags don't match ({_SEQUENCE} vs {{class:{first >> 6}"
            f" tag:{first & 0x1F} length:{length} isCompound:{compound}}}) {{optional:false"
            " explicit:false application:false private:false defaultValue:<nil> tag:<nil>"
            f" stringType:0 timeType:0 set:false omitEmpty:false}} {name} @{header}"
        )
    return "asn1: syntax error: data truncated" if header + length > len(der) else ""


# Finding PEM blocks in a text, in linear time for any input

_BEGIN = re.compile(rb"^-----BEGIN ([^\r\n]*)-----[ \t\r]*\n", re.MULTILINE)
_END = re.compile(rb"-----END ([^\r\n]*)-----[ \t\r]*$", re.MULTILINE)


def pem_blocks(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the label and content of each block. A block ends at the next END line; if that has
    another label the block is skipped. Text between blocks is ignored."""
    ends = list(_END.finditer(text))
    places = [end.start() for end in ends]
    read_to = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < read_to:
            continue
        index = bisect_left(places, begin.end())
        if index == len(ends):
            return
        end = ends[index]
        if end[1] == begin[1]:
            yield begin[1].decode(errors="replace"), text[begin.end() : end.start()]
            read_to = end.end()
