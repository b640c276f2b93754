"""The dialects: each switch names its source and is used."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest

import fairlead
from fairlead.base.dialect import CLUSTER, KUBERNETES, SWITCHES, Dialect, Switch

SOURCES = Path(fairlead.__file__).parent


def test_the_cluster_dialect_follows_the_specification_and_the_other_one_the_reference() -> None:
    assert {getattr(CLUSTER, name) for name in SWITCHES} == {True}
    assert {getattr(KUBERNETES, name) for name in SWITCHES} == {False}


def test_each_switch_names_a_section_and_says_both_behaviours() -> None:
    assert SWITCHES
    for name, switch in SWITCHES.items():
        document, _, section = switch.section.partition(", ")
        assert document in ("1", "2", "3"), name
        assert section, name
        assert switch.specified.endswith("."), name
        assert switch.reference.endswith("."), name
        assert switch.specified != switch.reference, name


def test_no_behaviour_is_switched_without_a_text() -> None:
    """A flag of a dialect that is no `Switch` would be on no page."""
    flags = [name for name, kind in get_type_hints(Dialect).items() if kind is bool]
    assert flags == ["follows_specification"]
    assert getattr(Dialect, next(iter(SWITCHES))).__class__ is Switch


def test_each_name_says_what_it_is() -> None:
    for name, hint in get_type_hints(Dialect, include_extras=True).items():
        if name != "follows_specification":
            assert all(hint.__metadata__), name


def test_something_hangs_on_each_switch() -> None:
    """In the code, or in a table of types."""
    read = [path for end in ("py", "types") for path in SOURCES.rglob(f"*.{end}")]
    texts = [path.read_text() for path in read if path.name != "dialect.py"]
    for name in SWITCHES:
        uses = (f".{name}", f" if={name}")
        assert any(use in text for text in texts for use in uses), name


def test_the_dialects_are_asked_for_no_behaviour_by_their_name() -> None:
    """Every difference has a switch, so that the page of differences is complete."""
    requests = ("follows_specification", "dialect is CLUSTER", "dialect is KUBERNETES")
    allowed = {"dialect.py", "banner.py"}  # the banner says which clients will do
    names = {
        path.name
        for path in SOURCES.rglob("*.py")
        if any(word in path.read_text() for word in requests)
    }
    assert names <= allowed


def test_a_dialect_does_not_change_and_knows_its_names() -> None:
    with pytest.raises(AttributeError):
        KUBERNETES.name = "cluster"
    with pytest.raises(TypeError, match="a dialect has no label_domian"):
        Dialect(label_domian="kubernetes.io")
