"""Quantities: their stored form, and arithmetic by value."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.types.quantity import (
    FORMAT_ERROR,
    QuantityError,
    amount,
    canonical,
    format_quantity,
    is_less,
    quantity,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", "0"),
        ("00", "0"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("0.0", "0"),
        ("1", "1"),
        ("+1", "+1"),
        ("-1", "-1"),
        ("007", "007"),
        ("5.", "5."),
        (".5", "500m"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.250", "1.250"),
        ("1.2500", "1250m"),
        ("1.125G", "1.125G"),
        ("0.125", "125m"),
        ("+1Gi", "+1Gi"),
        ("+8Gi", "8Gi"),
        ("1.2e1", "1.2e1"),
        ("0.001", "1m"),
        ("0.0001", "100u"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("2000m", "2"),
        ("1n", "1n"),
        ("1000n", "1u"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1u", "1u"),
        ("1k", "1k"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("1024", "1024"),
        ("1000k", "1M"),
        ("1M", "1M"),
        ("1G", "1G"),
        ("1T", "1T"),
        ("1P", "1P"),
        ("1E", "1E"),
        ("1000P", "1E"),
        ("1Ki", "1Ki"),
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1.5Ki", "1536"),
        ("0.5Ki", "512"),
        ("0.5Mi", "512Ki"),
        ("1.1Ki", "1126400m"),
        ("-2048Mi", "-2Gi"),
        ("1Ti", "1Ti"),
        ("1Pi", "1Pi"),
        ("1Ei", "1Ei"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1e+3", "1e+3"),
        ("1e4", "10e3"),
        ("1e0", "1e0"),
        ("15e-1", "1500e-3"),
        ("1e-3", "1e-3"),
        ("100e3", "100e3"),
        ("12.5e3", "12500"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775807"),
        (" 1 ", "1"),
    ],
)
def test_the_canonical_form(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    "text",
    ["lots", "1 Gi", "1.2.3", "1KI", "Gi", "1e3.5", "1e3k", "0x10", "1,000", "\u0661", ".", "-",
     "∞", "NaN", "inf"],
)  # fmt: skip
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        canonical(text)
    assert str(caught.value) == FORMAT_ERROR


@pytest.mark.parametrize("text", ["1Gii", "--1", "1i", "1mi", "1e", "1K", "1ee3"])
def test_a_suffix_that_does_not_exist(text: str) -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        canonical(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1Ki", 1024),
        ("100m", "0.1"),
        ("1e3", 1000),
        ("1.5Gi", 1610612736),
        ("-1k", -1000),
    ],
)
def test_the_value(text: str, value: int | str) -> None:
    assert quantity(text) == Decimal(value)


numbers = st.builds(
    lambda sign, whole, part: f"{sign}{whole}{part}",
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**9),
    st.one_of(st.just(""), st.integers(0, 999).map(lambda part: f".{part}")),
)
suffixes = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E6", "e-3", "e0"]
)


@given(numbers, suffixes)
def test_the_canonical_form_is_its_own_and_keeps_the_value(number: str, suffix: str) -> None:
    text = canonical(number + suffix)
    assert canonical(text) == text
    assert quantity(text) == quantity(number + suffix)


@given(numbers, suffixes)
def test_what_is_printed_anew_has_no_fraction(number: str, suffix: str) -> None:
    text = canonical(number + suffix)
    assert text == number + suffix or "." not in text


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_in_good_order(text: str) -> None:
    with suppress(QuantityError):
        assert canonical(canonical(text)) == canonical(text)


@given(
    st.integers(1, 9_999_999) | st.integers(10**10, 10**13),
    st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
)
def test_usual_texts_are_read_like_any_other(number: int, suffix: str) -> None:
    usual, other = f"{number}{suffix}", f"+{number}.0{suffix}"
    assert amount(usual) == amount(other)
    if amount(usual).value < 2**63 - 1:
        assert canonical(usual) == format_quantity(*amount(other))


@given(numbers, suffixes, numbers, suffixes)
def test_amounts_are_compared_by_value(one: str, suffix: str, other: str, beside: str) -> None:
    for left, right in ((one + suffix, other + beside), (one + suffix, other + suffix)):
        assert is_less(left, right) == (quantity(left) < quantity(right))
