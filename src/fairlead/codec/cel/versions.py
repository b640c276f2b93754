"""Semantic versions such as `1.2.3-rc.1`."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any

from fairlead.base.quotes import quote
from fairlead.codec.cel.costs import first_tenth
from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.library import Library, declared, scanned
from fairlead.codec.cel.types import BOOL, INT, SEMVER, STRING
from fairlead.codec.cel.values import UINT_MAX

_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_LETTERS = re.compile(r"[0-9A-Za-z-]*", re.ASCII)


@total_ordering
class Semver:
    """A version; its build metadata does not take part in comparisons."""

    type_name, class_name = "kubernetes.Semver", "cel.Semver"
    __slots__ = ("key", "numbers")

    def __init__(self, numbers: list[int], pre: list[str]) -> None:
        self.numbers = numbers
        # A version with prerelease parts comes before the one without; numbers before words.
        parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre]
        self.key: Any = (*numbers, not parts, parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __lt__(self, other: Semver) -> bool:
        return bool(self.key < other.key)

    def __hash__(self) -> int:
        return hash(str(self.key))


class VersionError(ValueError):
    """Text that is not a version; the message says why."""


def _number(text: str, noun: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise VersionError(f"Invalid character(s) found in {noun} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        shown = f"{noun.capitalize()} number must not contain leading zeroes"
        raise VersionError(f"{shown} {quote(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise VersionError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > UINT_MAX:
        raise VersionError(f"strconv.ParseUint: parsing {quote(text)}: value out of range")
    return int(text)


def parse_version(text: str) -> Semver:
    if not text:
        raise VersionError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise VersionError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major"), _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, pre = rest.partition("-")
    numbers = [major, minor, _number(patch, "patch")]
    prerelease = pre.split(".") if dash else []
    for part in prerelease:
        _check_prerelease(part)
    for part in build.split(".") if plus else ():
        if not part:
            raise VersionError("Build meta data is empty")
        if not _LETTERS.fullmatch(part):
            raise VersionError(f"Invalid character(s) found in build meta data {quote(part)}")
    return Semver(numbers, prerelease)


def _check_prerelease(part: str) -> None:
    if not part:
        raise VersionError("Prerelease is empty")
    if _DIGITS.fullmatch(part):
        if len(part) > 1 and part[0] == "0":
            shown = "Numeric PreRelease version must not contain leading zeroes"
            raise VersionError(f"{shown} {quote(part)}")
        _unsigned(part)
    elif not _LETTERS.fullmatch(part):
        raise VersionError(f"Invalid character(s) found in prerelease {quote(part)}")


def _normalized(text: str) -> str:
    """Without a leading `v` and leading zeros, and with all three numbers."""
    parts = [_trimmed(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise VersionError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _trimmed(part: str) -> str:
    if len(part) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in tuple("0123456789") else f"0{rest}"


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse_version(_normalized(text) if normalize else text)
    except VersionError as error:
        raise EvaluationError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        return parse_version(_normalized(text) if normalize else text) is not None
    except VersionError:
        return False


def _part(index: int) -> Any:
    """A number of a version; beyond 63 bits it wraps around, as in the reference."""

    def number(version: Semver) -> int:
        value = version.numbers[index]
        return value - 2**64 if value >= 2**63 else value

    return number


_PAIR = (SEMVER, SEMVER)
_PARSED = ("semver", "isSemver")
LIBRARY = Library(
    declared(
        [
            ("semver", (STRING,), SEMVER),
            ("semver", (STRING, BOOL), SEMVER),
            ("isSemver", (STRING,), BOOL),
            ("isSemver", (STRING, BOOL), BOOL),
        ],
        [
            ("isGreaterThan", _PAIR, BOOL),
            ("isLessThan", _PAIR, BOOL),
            ("compareTo", _PAIR, INT),
            *((name, (SEMVER,), INT) for name in ("major", "minor", "patch")),
        ],
    ),
    {
        "semver": dict.fromkeys(((str,), (str, bool)), _semver),
        "isSemver": dict.fromkeys(((str,), (str, bool)), _is_semver),
        "isGreaterThan": {(Semver, Semver): lambda left, right: left > right},
        "isLessThan": {(Semver, Semver): lambda left, right: left < right},
        "compareTo": {(Semver, Semver): lambda left, right: (left > right) - (left < right)},
        **{
            name: {(Semver,): _part(index)}
            for index, name in enumerate(("major", "minor", "patch"))
        },
    },
    dict.fromkeys(_PARSED, first_tenth),
    dict.fromkeys(_PARSED, scanned(1)),
    {"kubernetes.Semver": SEMVER},
)
