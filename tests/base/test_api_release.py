"""Releases: which lines and marks of a table each release has."""

from __future__ import annotations

import pytest

from fairlead.base.release import V1_25, V1_36, Release

TABLE = """\
Always
  old      string  1  until=1.28
  new      string  2  enum=A|B since=1.28
  between  string  3  since=1.20 until=1.30
  changed  1.29-int32 1.29+int64?  4  1.30+list=set
Later since=1.30
  field  string  1
"""


def test_table_without_marks_is_unchanged() -> None:
    text = "Type\n  field  string  1  default=1.5\n"
    assert V1_36.select(text) == text


def test_lines_exist_from_since_until_before_until() -> None:
    assert V1_25.select(TABLE).split("\n") == [
        "Always",
        "  old      string  1",
        "  between  string  3",
        "  changed  int32  4",
        "",
    ]


def test_line_that_opens_a_section_takes_the_section_with_it() -> None:
    assert V1_36.select(TABLE).split("\n") == [
        "Always",
        "  new      string  2  enum=A|B",
        "  changed  int64?  4  list=set",
        "Later",
        "  field  string  1",
        "",
    ]


@pytest.mark.parametrize(("minor", "kept"), [(27, "before"), (28, "after"), (29, "after")])
def test_bounds_are_exact(minor: int, kept: str) -> None:
    table = "before until=1.28\nafter since=1.28"
    assert Release(minor, f"v1.{minor}.0").select(table) == kept
