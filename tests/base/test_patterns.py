"""No regular expression that is matched with client data can backtrack."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest
from support.pace import in_time

import fairlead
from fairlead.base.patterns import PatternError, compiled

LENGTH = 10_000
MAX_SECONDS = 0.1  # a quadratic one takes seconds
UNITS = (
    "a", "1", "A", "-", ".", "_", "/", ":", " ", "\n", "a.", "a-", "1.", "a/", "a:", "['", "%",
    "\\", "a,", "0", "-----BEGIN A-----\n", "-----BEGIN ", "a=", "{a}", "..", "--", "a_",
    "1:", "iqn.",
)  # fmt: skip
ENDS = ("", "!", "\nx")


def patterns() -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Every pattern that a module holds by itself or in a table."""
    for package in pkgutil.walk_packages(fairlead.__path__, "fairlead."):
        if package.name.endswith("__main__"):
            continue
        module = importlib.import_module(package.name)
        for name, held in vars(module).items():
            values = held.values() if isinstance(held, dict) else [held]
            for value in values:
                if isinstance(value, re.Pattern):
                    yield f"{package.name}.{name}", value


# Read what administrators wrote, not what clients send.
TRUSTED = (
    "fairlead.auth.authentication.keys._BLOCK",
    "fairlead.auth.authorization.bootstrap._NAMED",
    "fairlead.process.flags.serve._DURATION",
)


@pytest.mark.parametrize(
    ("name", "pattern"), [pytest.param(*case, id=case[0]) for case in patterns()]
)
def test_a_pattern_takes_time_in_proportion(name: str, pattern: re.Pattern[Any]) -> None:
    if name in TRUSTED:
        return
    for unit in UNITS:
        for end in ENDS:
            text: Any = unit * (LENGTH // len(unit)) + end
            if isinstance(pattern.pattern, bytes):
                text = text.encode()
            before = process_time()
            pattern.match(text)
            pattern.fullmatch(text)
            assert in_time(process_time() - before, MAX_SECONDS), (unit, end)


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z]{0,1000}" * 30,
        "(?:[a-z]{0,31}){31}" * 30,
        "a?" * 30_000,
        "(?P<n>(a{0,9}){100})" + "(?i:(a{0,9}){100})" * 9,
    ],
)
def test_a_pattern_with_too_many_optional_parts_is_refused(pattern: str) -> None:
    before = process_time()
    with pytest.raises(PatternError, match="expression too large"):
        compiled(pattern)
    assert in_time(process_time() - before, MAX_SECONDS)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^.{0,1000}$",
        r"^\p{L}{0,63}$",
        r"[{0,9}]{900}",
        r"\{0,9999\}",
        r"(?i)(?P<name>[[:alpha:]]{1,63}\.){0,9}[]a]{1,63}",
    ],
)
def test_a_pattern_of_common_size_is_accepted(pattern: str) -> None:
    assert compiled(pattern).pattern == pattern
