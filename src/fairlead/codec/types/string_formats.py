"""Checks of string formats. Formats that are not in the table are not checked."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from datetime import date
from unicodedata import category
from urllib.parse import urlsplit

from fairlead.base.patterns import matcher
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.names import dns_label, dns_subdomain

IsOf = Callable[[str], bool]

_HEX = "[0-9a-f]"
_COLOR = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_HOSTNAME = r"^(a(-?a{0,62})?|(a([a-]{0,61}a)?\.)+a(-?a){1,62})$"  # `a` is any letter
_ATOM = r"[^\s@<>()\[\],;:\\\x22\x00-\x1f]+"
_ADDRESS = rf"{_ATOM}@{_ATOM}"
_PAIR, _QUAD = "[0-9a-fA-F]{2}", r"[0-9a-fA-F]{4}"
_MAC = "|".join(
    f"{part}({by}{part}){{{first}}}(|({by}{part}){{{second}}}|({by}{part}){{{third}}})"
    for part, by, first, second, third in (
        (_PAIR, ":", 5, 2, 14),
        (_PAIR, "-", 5, 2, 14),
        (_QUAD, r"\.", 2, 1, 7),
    )
)
_UNITS = ("ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "m", "h", "d", "w")


def _uuid(third: str, fourth: str) -> IsOf:
    return matcher(f"(?i)^{_HEX}{{8}}-?{_HEX}{{4}}-?{third}-?{fourth}-?{_HEX}{{12}}$")


_is_hostname = matcher(_HOSTNAME)
_is_credit_card = matcher(
    r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$"
)
_is_time = matcher(r"^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$")
_is_social = matcher(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$")
_is_mac = matcher(f"^({_MAC})$")
_has_bad_escape = matcher(r"%([^0-9a-fA-F]|[0-9a-fA-F][^0-9a-fA-F]|[0-9a-fA-F]?$)")
_has_control = matcher(r"[\x00-\x1f\x7f]")
_has_scheme = matcher(r"^[a-zA-Z][a-zA-Z0-9+.-]*:")
_has_bad_host = matcher(r"[\s<>\x22\\^`{|}]")
_is_scala_duration = matcher(rf"^\s*(\d+\s*({'|'.join(_UNITS)})[A-Za-zµ]*\s*)+$")


def _hostname(text: str) -> bool:
    """Letters of any script, symbols and digits count as letters."""
    if len(text.encode()) > 255:
        return False
    if not _is_hostname("".join("a" if _is_letter(character) else character for character in text)):
        return False
    return all(len(part.encode()) <= 63 for part in text.split("."))


def _is_letter(character: str) -> bool:
    return category(character)[0] in "LS" or "0" <= character <= "9"


def _uri(text: str) -> bool:
    """Accepts the targets of a request line: an absolute path or an absolute URI."""
    if _has_control(text) or _has_bad_escape(text):
        return False
    if not _has_scheme(text):
        return text.startswith("/")
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - raises if the port is invalid
    except ValueError:
        return False
    return not _has_bad_host(parts.netloc)


def _ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not length.isascii() or not length.isdigit() or not _ip(address):
        return False
    return len(length) <= 3 and int(length) <= (128 if ":" in address else 32)


def _without(text: str, letters: str) -> str:
    return text.translate(dict.fromkeys(map(ord, letters)))


def _isbn_10(text: str) -> bool:
    digits = _without(text, "- \t\n\r\f\v")
    if len(digits) != 10 or not _all_digits(digits[:9]):
        return False
    if not _all_digits(digits[9]) and digits[9] != "X":
        return False
    total = sum((index + 1) * int(digit) for index, digit in enumerate(digits[:9]))
    return (total + 10 * (10 if digits[9] == "X" else int(digits[9]))) % 11 == 0


def _isbn_13(text: str) -> bool:
    digits = _without(text, "- \t\n\r\f\v")
    if len(digits) != 13 or not _all_digits(digits):
        return False
    return sum(int(digit) * (1, 3)[index % 2] for index, digit in enumerate(digits)) % 10 == 0


def _all_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _credit_card(text: str) -> bool:
    digits = "".join(letter for letter in text if _all_digits(letter))
    if not _is_credit_card(digits):
        return False
    doubled = [int(digit) * (2 if index % 2 else 1) for index, digit in enumerate(digits[::-1])]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _date(text: str) -> bool:
    if len(text) != 10 or text[4] != "-" or text[7] != "-":
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _date_time(text: str) -> bool:
    day, t, time = text.lower().partition("t")
    return bool(t) and _date(day) and _is_time(time)


def _duration(text: str) -> bool:
    try:
        parse_duration(text)
    except DurationError:
        return _is_scala_duration(text)
    return True


_CHECKS: dict[str, IsOf] = {
    "bsonobjectid": matcher("^[0-9a-fA-F]{24}$"),
    "uri": _uri,
    "email": matcher(rf"^\s*({_ADDRESS}|[^<>@]*<{_ADDRESS}>)\s*$"),
    "hostname": _hostname,
    "ipv4": lambda text: "." in text and _ip(text),
    "ipv6": lambda text: ":" in text and _ip(text),
    "cidr": _cidr,
    "mac": _is_mac,
    "uuid": _uuid(f"{_HEX}{{4}}", f"{_HEX}{{4}}"),
    "uuid3": _uuid(f"3{_HEX}{{3}}", f"{_HEX}{{4}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89ab]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89ab]{_HEX}{{3}}"),
    "isbn": lambda text: _isbn_10(text) or _isbn_13(text),
    "isbn10": _isbn_10,
    "isbn13": _isbn_13,
    "creditcard": _credit_card,
    "ssn": lambda text: len(text) == 11 and _is_social(text),
    "hexcolor": matcher("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
    "rgbcolor": matcher(rf"^rgb\({_COLOR},{_COLOR},{_COLOR}\)$"),
    "byte": matcher("^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
    "password": lambda _: True,
    "date": _date,
    "duration": _duration,
    "datetime": _date_time,
}


# Formats that later releases have.
_LATER_CHECKS: dict[str, IsOf] = {
    "k8sshortname": lambda text: not dns_label(text),
    "k8slongname": lambda text: not dns_subdomain(text),
}


def check_of(form: str, is_later: bool = False) -> IsOf | None:
    """The check of a format; None if the format is not checked."""
    name = form.replace("-", "")
    return _CHECKS.get(name) or (_LATER_CHECKS.get(name) if is_later else None)


_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_known_format(kind: str, form: str, is_later: bool = True) -> bool:
    """Whether values of a type and format are checked."""
    if kind == "string":
        return check_of(form, is_later) is not None
    return form in _NUMBER_FORMATS.get(kind, ())
