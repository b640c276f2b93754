"""The times of cron schedules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.resources.batch.occurrences import last_time, next_time
from fairlead.resources.batch.schedule import parse_schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "wanted"),
    [
        ("* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01"),
        ("* * * * *", "2026-01-01 00:00:59.999", "2026-01-01 00:01"),
        ("*/15 * * * *", "2026-01-01 00:46", "2026-01-01 01:00"),
        ("5,50 * * * *", "2026-01-01 00:06", "2026-01-01 00:50"),
        ("0 9-17/4 * * *", "2026-01-01 13:00", "2026-01-01 17:00"),
        ("30 8 * * mon-fri", "2026-01-02 08:30", "2026-01-05 08:30"),
        ("0 0 31 * *", "2026-01-31 00:00", "2026-03-31 00:00"),
        ("0 0 29 feb *", "2026-01-01 00:00", "2028-02-29 00:00"),
        ("0 0 13 * 5", "2026-03-07 00:00", "2026-03-13 00:00"),
        ("0 0 13 * 5", "2026-03-13 00:00", "2026-03-20 00:00"),
        ("0 0 */2 * 1", "2026-03-01 00:00", "2026-03-02 00:00"),
        ("0 0 * * 0", "2026-01-01 00:00", "2026-01-04 00:00"),
        ("59 23 31 12 *", "2026-12-31 23:59", "2027-12-31 23:59"),
        ("@yearly", "2026-06-01 00:00", "2027-01-01 00:00"),
        ("@hourly", "2026-06-01 00:00", "2026-06-01 01:00"),
        ("@every 90s", "2026-01-01 00:00:10.5", "2026-01-01 00:01:40"),
        ("TZ=Asia/Kathmandu 0 9 * * *", "2026-01-01 00:00", "2026-01-01 03:15"),
        ("CRON_TZ=Europe/Zurich 0 3 * * *", "2026-07-01 00:00", "2026-07-01 01:00"),
    ],
)
def test_the_next_time(schedule: str, after: str, wanted: str) -> None:
    zoned = schedule if "TZ=" in schedule or "@every" in schedule else f"TZ=UTC {schedule}"
    assert next_time(parse_schedule(zoned), at(after)) == at(wanted)


def test_a_time_that_summer_time_leaves_out_does_not_come() -> None:
    schedule = parse_schedule("TZ=America/New_York 30 2 * * *")
    assert next_time(schedule, at("2026-03-07 12:00")) == at("2026-03-09 06:30")


def test_a_midnight_that_is_left_out_does_not_come() -> None:
    schedule = parse_schedule("TZ=America/Sao_Paulo 0 0 * * *")
    assert next_time(schedule, at("2017-10-14 12:00")) == at("2017-10-16 02:00")


def test_a_time_that_comes_twice_counts_twice() -> None:
    schedule = parse_schedule("TZ=America/New_York 0 1 * * *")
    first = next_time(schedule, at("2026-10-31 12:00"))
    assert first == at("2026-11-01 05:00")
    assert next_time(schedule, first) == at("2026-11-01 06:00")


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", ", * * * *", "0 , * * *", "0 0 1 , *"])
def test_some_schedules_never_come_round(schedule: str) -> None:
    parsed, moment = parse_schedule(schedule), at("2026-01-01 00:00")
    assert next_time(parsed, moment) is None
    assert last_time(parsed, moment, moment + timedelta(days=4000)) is None


@pytest.mark.parametrize(
    ("schedule", "after", "until", "wanted"),
    [
        ("* * * * *", "2020-01-01 00:00", "2026-01-01 00:00:30", "2026-01-01 00:00"),
        ("* * * * *", "2026-01-01 00:00", "2026-01-01 00:00:30", None),
        ("0 * * * *", "2025-01-01 00:00", "2026-01-01 00:59", "2026-01-01 00:00"),
        ("0 9 * * 1-5", "2025-12-01 00:00", "2026-01-04 12:00", "2026-01-02 09:00"),
        ("0 0 1 1 *", "2000-01-01 00:00", "2026-12-31 00:00", "2026-01-01 00:00"),
        ("0 0 29 2 *", "2000-01-01 00:00", "2026-12-31 00:00", "2024-02-29 00:00"),
        ("0 0 29 2 *", "2025-01-01 00:00", "2026-12-31 00:00", None),
        ("@every 1h", "2026-01-01 00:00:01", "2026-01-01 02:30", "2026-01-01 02:00:01"),
        ("@every 1h", "2026-01-01 00:00:01", "2026-01-01 01:00", None),
    ],
)
def test_the_last_time(schedule: str, after: str, until: str, wanted: str | None) -> None:
    zoned = schedule if "@every" in schedule else f"TZ=UTC {schedule}"
    time = last_time(parse_schedule(zoned), at(after), at(until))
    assert time == (at(wanted) if wanted else None)
