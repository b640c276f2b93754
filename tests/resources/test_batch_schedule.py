"""Cron schedules."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.resources.batch.schedule import ScheduleError, parse_schedule

INT = "failed to parse int from"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bad", "expected exactly 5 fields, found 1: [bad]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("* 24 * * *", "end of range (24) above maximum (23): 24"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * 13 *", "end of range (13) above maximum (12): 13"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", f'{INT} x: strconv.Atoi: parsing "x": invalid syntax'),
        ("*/x * * * *", f'{INT} x: strconv.Atoi: parsing "x": invalid syntax'),
        ("-1 * * * *", f'{INT} : strconv.Atoi: parsing "": invalid syntax'),
        ("@never", "unrecognized descriptor: @never"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        (
            "@every 1d",
            'failed to parse duration @every 1d: time: unknown unit "d" in duration "1d"',
        ),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("TZ=Mars/X * * * * *", "provided bad location Mars/X: unknown time zone Mars/X"),
        ("CRON_TZ=UTC * *", "expected exactly 5 fields, found 2: [* *]"),
    ],
)
def test_refused(text: str, why: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert str(caught.value) == why


def test_fields() -> None:
    schedule = parse_schedule("*/20 1-3,5 ? JAN-mar sun")
    assert schedule.minutes == {0, 20, 40}
    assert schedule.hours == {1, 2, 3, 5}
    assert schedule.days == set(range(1, 32))
    assert schedule.months == {1, 2, 3}
    assert schedule.weekdays == {0}
    assert (schedule.any_day, schedule.any_weekday) == (True, False)


def test_start_and_step_goes_to_the_end() -> None:
    assert parse_schedule("50/5 * * * *").minutes == {50, 55}


def test_descriptors() -> None:
    assert parse_schedule("@daily") == parse_schedule("0 0 * * *")
    assert parse_schedule("@every 1h30m").interval == timedelta(minutes=90)
    assert parse_schedule("TZ=UTC @hourly").zone == "UTC"
