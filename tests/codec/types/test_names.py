"""The syntax of names equals the pattern in the message."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product

import pytest

from fairlead.codec.types.names import (
    dns_1035_label,
    dns_label,
    dns_subdomain,
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
    is_qualified_name,
    label_value,
    path_segment,
    qualified_name,
)

_PATTERN = re.compile(r"regex used for validation is '(.*)'\)")
_LETTERS = ("a", "Z", "0", "-", ".", "_", "é", "²", "\n")
_TEXTS = ["".join(letters) for length in range(5) for letters in product(_LETTERS, repeat=length)]

Errors = Callable[[str], Sequence[str]]


@pytest.mark.parametrize(
    "errors", [dns_label, dns_1035_label, dns_subdomain, label_value, qualified_name]
)
def test_a_name_is_right_if_it_fits_the_pattern_that_is_told(errors: Errors) -> None:
    result = _PATTERN.search(" ".join(errors("é")))
    assert result is not None
    pattern = re.compile(rf"(?:{result[1]})\Z", re.ASCII)
    for text in _TEXTS:
        assert (not errors(text)) == bool(pattern.match(text)), text


@pytest.mark.parametrize(
    ("is_right", "errors"),
    [
        (is_dns_label, dns_label),
        (is_dns_subdomain, dns_subdomain),
        (is_label_value, label_value),
        (is_qualified_name, qualified_name),
    ],
)
def test_what_is_right_has_no_errors(is_right: Callable[[str], bool], errors: Errors) -> None:
    prefixed = [
        f"{prefix}/{name}"
        for prefix in ("", "a", "a.b", "A", "-")
        for name in ("", "a/b", "Z", "-")
    ]
    long = [letter * length for letter in "a." for length in (62, 63, 64, 253, 254)]
    for text in (*_TEXTS, *prefixed, *long, f"{'a' * 254}/b", f"b/{'a' * 64}"):
        assert is_right(text) == (not errors(text)), text


def test_a_name_may_be_so_long_and_no_longer() -> None:
    assert dns_label("a" * 63) == label_value("A" * 63) == dns_subdomain("a" * 253) == []
    assert dns_label("a" * 64) == ["must be no more than 63 characters"]
    assert dns_subdomain("a" * 254) == ["must be no more than 253 characters"]
    assert qualified_name(f"{'p' * 253}/{'n' * 63}") == ()
    assert qualified_name("n" * 64) == ("name part must be no more than 63 characters",)


def test_a_step_of_a_path_has_neither_slashes_nor_percent_signs() -> None:
    assert path_segment("A_é ...") == []
    assert path_segment("..") == ["may not be '..'"]
    assert path_segment("%/") == ["may not contain '/'", "may not contain '%'"]
