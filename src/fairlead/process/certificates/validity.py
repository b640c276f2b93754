"""Reads the validity of a certificate from its DER bytes: importing a full X.509 library would take
longer than the rest of the start."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

_UTC_TIME, _VERSION = 0x17, 0xA0


class Validity(NamedTuple):
    start: datetime
    end: datetime

    def left(self, now: datetime) -> timedelta:
        return self.end - now

    def is_to_be_renewed(self, now: datetime) -> bool:
        """Whether less than a third of the lifetime is left, or the certificate is not valid yet,
        because it was issued while a clock was ahead."""
        return now < self.start or self.left(now) * 3 < self.end - self.start


def validity_of(pem: bytes) -> Validity:
    """Return the validity of the first certificate in a PEM text; raises ValueError."""
    try:
        text = pem.decode("ascii")
        start = text.index(ssl.PEM_HEADER)
        end = text.index(ssl.PEM_FOOTER, start) + len(ssl.PEM_FOOTER)
        der = ssl.PEM_cert_to_DER_cert(text[start:end])
        (certificate,) = _values(der)
        body = next(_values(certificate[1]))[1]
        parts = [value for tag, value in _values(body) if tag != _VERSION]
        times = list(_values(parts[3]))  # after serial number, algorithm and issuer
        first, last = (_moment(tag, value) for tag, value in times)
    except (ValueError, IndexError, StopIteration):
        raise ValueError("it is not a certificate") from None
    return Validity(first, last)


def _values(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the tags and contents of consecutive DER values."""
    position = 0
    while position < len(data):
        tag, size, position = data[position], data[position + 1], position + 2
        if size & 0x80:
            count = size & 0x7F
            size, position = int.from_bytes(data[position : position + count]), position + count
        if position + size > len(data):
            raise ValueError("cut off")
        yield tag, data[position : position + size]
        position += size


def _moment(tag: int, value: bytes) -> datetime:
    text = value.decode("ascii")
    if tag == _UTC_TIME:  # two-digit years: 1950 to 2049
        text = ("19" if text >= "50" else "20") + text
    if len(text) != len("20060102150405Z") or not text.endswith("Z"):
        raise ValueError("not a time of X.509")
    return datetime.fromisoformat(f"{text[:8]}T{text[8:]}")
