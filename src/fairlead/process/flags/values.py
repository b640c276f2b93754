"""Parsers of flag values; errors fit on one line."""

from __future__ import annotations

import argparse
import ipaddress
import re
from collections.abc import Callable
from pathlib import Path

from fairlead.codec.types.quantity import quantity

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(h|ms|us|ns|m|s)")
_MAX_DIGITS = 18
_RELEASE = re.compile(r"v?(\d{1,4})\.(\d{1,4})(\.\d{1,9})?([-+][0-9A-Za-z.+-]{1,100})?")


def duration(text: str) -> float:
    """Return the seconds of a duration such as `1m30s`; `0` needs no unit."""
    if text == "0":
        return 0.0
    if not text or len(text) > 100 or _DURATION.sub("", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 300s or 5m")
    return sum(float(number) * _UNITS[unit] for number, unit in _DURATION.findall(text))


def whole_number(text: str) -> int:
    """Parse a whole number >= 0."""
    digits = text.strip().removeprefix("-")
    if not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    if text.strip().startswith("-"):
        raise argparse.ArgumentTypeError(f"{text} must not be negative")
    return int(digits)


def rate(text: str) -> float:
    """Parse a number >= 0, such as 0.1."""
    if re.fullmatch(r"\d{1,18}(\.\d{0,18})?", text.strip(), re.ASCII) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.1")
    return float(text)


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    value = rate(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"{text} is not a fraction from 0 to 1")
    return value


def size(text: str) -> int:
    """Parse a number of bytes, optionally with a unit such as `64Mi`."""
    try:
        value = quantity(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 64Mi") from None
    if value != value.to_integral_value() or not 0 <= value < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(value)


def port(text: str) -> int:
    value = whole_number(text)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: 0 to 65535")
    return value


def address(text: str) -> str:
    """Check an IP address; may be empty."""
    if text:
        try:
            ipaddress.ip_address(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not an IP address") from None
    return text


def host(text: str) -> str:
    """Check an IP address or a host name; may be empty."""
    if re.fullmatch(r"[0-9A-Za-z.:_%-]{0,253}", text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither an IP address nor a host name")
    return text


def directory(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of a directory is needed")
    return Path(text)


def release(text: str) -> str:
    """Check a version such as `v1.25.9`, and prepend the `v` if it is missing."""
    if _RELEASE.fullmatch(text) is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version such as v1.25.9")
    return "v" + text.removeprefix("v")


def checked(read: Callable[[str], object]) -> Callable[[str], str]:
    """Wrap a parser to validate a text at startup and keep it as text, which is parsed again
    later."""

    def check(text: str) -> str:
        try:
            read(text)
        except ValueError as error:
            message = str(error)
            if type(error) is ValueError and "invalid literal" in message:
                message = f"{text!r} cannot be read"
            raise argparse.ArgumentTypeError(message) from None
        return text

    return check
