"""The page that descriptions are written on."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper

from fairlead.cli.describe.page import Page, aligned
from fairlead.cli.invocation import Screen


def test_cells_below_each_other_line_up_with_two_spaces_behind_the_widest() -> None:
    assert aligned(["Name:\ta", "Namespace:\tb"]) == ["Name:       a", "Namespace:  b"]


def test_a_line_without_the_column_ends_it() -> None:
    lines = ["a:\t1", "long name:\t2", "Head", "b:\t3"]
    assert aligned(lines) == ["a:          1", "long name:  2", "Head", "b:  3"]


def test_an_inner_column_ends_where_a_line_has_fewer_cells() -> None:
    lines = ["a\tlong cell\tx", "b\ty", "c\td\tz"]
    assert aligned(lines) == ["a  long cell  x", "b  y", "c  d  z"]


def test_what_stands_behind_the_last_tab_has_no_width() -> None:
    assert aligned(["a\t" + "x" * 50, "b\ty\tz"]) == ["a  " + "x" * 50, "b  y  z"]


def test_an_empty_cell_is_as_wide_as_the_gap() -> None:
    assert aligned(["a\t\tb"]) == ["a    b"]


def test_widths_are_those_of_characters() -> None:
    assert aligned(["é\t1", "ab\t2"]) == ["é   1", "ab  2"]


def test_a_line_of_very_many_cells_is_no_trouble() -> None:
    (line,) = aligned(["\t" * 50_000])
    assert line == "  " * 50_000


def test_what_a_terminal_would_obey_is_spelled_out() -> None:
    assert aligned(["\x1b[31m\x07\r\x9b\x7f\x0b"]) == ["^[[31m^G\\r\\x9b^?^K"]


def test_letters_that_the_output_does_not_know_are_spelled_out() -> None:
    raw = BytesIO()
    screen = Screen(TextIOWrapper(raw, encoding="ascii"))
    screen.print("\u00e9")
    screen.flush()
    assert raw.getvalue() == b"\\xe9\n"


def test_a_page_has_levels_tables_and_entries() -> None:
    page = Page()
    page.pair("Name", "x")
    page.pairs_if(("Absent", ""), ("None", None), ("Zero", 0), level=1)
    page.entries("Labels", ["a=1", "b=2"])
    page.entries("None", [])
    page.table(("Kind", "Name"), [("A", "b")])
    assert page.text().splitlines() == [
        "Name:    x",
        "  Zero:  0",
        "Labels:  a=1",
        "         b=2",
        "None:    <none>",
        "  Kind   Name",
        "  ----   ----",
        "  A      b",
    ]
