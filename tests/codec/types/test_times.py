"""Times: RFC 3339 in, UTC out, in whole seconds or microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.codec.types.times import (
    TimeError,
    canonical_micro_time,
    canonical_time,
    format_micro_time,
    format_time,
    now,
    parse_time,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05+00:00", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05+02:00", "2024-01-02T01:04:05Z"),
        ("2024-01-02T23:30:00-05:30", "2024-01-03T05:00:00Z"),
        ("2024-01-02T03:04:05.999Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.123456789Z", "2024-01-02T03:04:05Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_time_in_whole_seconds(text: str, expected: str) -> None:
    assert canonical_time(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05.123456Z", "2024-01-02T03:04:05.123456Z"),
        ("2024-01-02T03:04:05.000000Z", "2024-01-02T03:04:05.000000Z"),
        ("2024-01-02T03:04:05.500000+02:00", "2024-01-02T01:04:05.500000Z"),
    ],
)
def test_a_time_in_microseconds(text: str, expected: str) -> None:
    assert canonical_micro_time(text) == expected


@pytest.mark.parametrize(
    ("text", "rest", "wanted"),
    [
        ("2020-01-01T00:00:00Z", "Z", ".000000"),
        ("2020-01-01T00:00:00+02:00", "+02:00", ".000000"),
        ("2020-01-01T00:00:00.123456789Z", "789Z", "Z07:00"),
    ],
)
def test_a_time_in_microseconds_must_have_them(text: str, rest: str, wanted: str) -> None:
    with pytest.raises(TimeError) as caught:
        canonical_micro_time(text)
    assert str(caught.value) == (
        f'parsing time "{text}" as "2006-01-02T15:04:05.000000Z07:00":'
        f' cannot parse "{rest}" as "{wanted}"'
    )


@pytest.mark.parametrize(
    "text",
    ["yesterday", "2024-01-02", "2024-01-02 03:04:05Z", "2024-01-02T03:04:05", "20240102T030405Z",
     "2024-13-02T03:04:05Z", "2024-02-30T03:04:05Z", "2024-01-02T25:04:05Z", "24-01-02T03:04:05Z",
     "2024-01-02T03:04:05+2:00", "2024-01-02t03:04:05z", " 2024-01-02T03:04:05Z"],
)  # fmt: skip
def test_what_is_no_time(text: str) -> None:
    for canonical in (canonical_time, canonical_micro_time):
        with pytest.raises(TimeError) as caught:
            canonical(text)
        assert str(caught.value).startswith(f'parsing time "{text}"')


def test_words_are_refused_in_the_references_words() -> None:
    layouts = {canonical_time: "05Z07:00", canonical_micro_time: "05.000000Z07:00"}
    for canonical, layout in layouts.items():
        with pytest.raises(TimeError) as caught:
            canonical("soon")
        assert str(caught.value) == (
            f'parsing time "soon" as "2006-01-02T15:04:{layout}": cannot parse "soon" as "2006"'
        )


moments = st.datetimes(datetime(1970, 1, 1), datetime(9998, 12, 31))
offsets = st.integers(-14 * 60, 14 * 60)


@given(moments, offsets)
def test_an_offset_does_not_change_the_moment(moment: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    text = moment.replace(tzinfo=UTC).astimezone(zone).isoformat(timespec="seconds")
    assert canonical_time(text) == format_time(moment)


@given(moments)
def test_what_is_formatted_is_canonical(moment: datetime) -> None:
    assert canonical_time(format_time(moment)) == format_time(moment)
    assert canonical_micro_time(format_micro_time(moment)) == format_micro_time(moment)


def test_now_is_now() -> None:
    assert abs(parse_time(now()) - datetime.now(UTC)) < timedelta(seconds=2)
