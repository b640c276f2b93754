"""Base64 text as JSON carries bytes: line breaks are skipped, and one text stands for one value."""

from __future__ import annotations

import base64
import binascii

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class Base64Error(ValueError):
    """Text that is not base64; tells where it stops being so."""


def canonical_base64(text: str) -> str:
    clean = text
    if "\n" in text or "\r" in text:
        clean = text.replace("\n", "").replace("\r", "")
    try:
        base64.b64decode(clean, validate=True)
    except (binascii.Error, ValueError):
        raise Base64Error(f"illegal base64 data at input byte {_wrong_at(text)}") from None
    if clean.endswith("="):  # unused bits at the end may be anything, but are kept as zero
        tail = base64.b64encode(base64.b64decode(clean[-4:])).decode()
        clean = clean[:-4] + tail
    return clean


def _wrong_at(text: str) -> int:
    """Where a decoder that reads four letters at a time gives up."""
    read = start = 0
    for index, letter in enumerate(text):
        if letter in "\r\n":
            continue
        if letter == "=":
            return _wrong_padding(text, index, read % 4)
        if letter not in _ALPHABET:
            return index
        if read % 4 == 0:
            start = index
        read += 1
    return start


def _wrong_padding(text: str, index: int, place: int) -> int:
    if place < 2:
        return index
    rest = [at for at in range(index + 1, len(text)) if text[at] not in "\r\n"]
    if place == 2:
        if not rest:
            return len(text)
        if text[rest[0]] != "=":
            return rest[0]
        rest = rest[1:]
    return rest[0] if rest else len(text)
