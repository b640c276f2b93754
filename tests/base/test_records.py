"""Classes of fields behave as those of `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from fairlead.base import records


@records.dataclass(frozen=True, slots=True)
class Point:
    """With all that a field can be."""

    KIND: ClassVar[str] = "point"

    x: int
    y: int = 2
    tags: list[str] = records.field(default_factory=list, hash=False)
    note: str = records.field(default="", compare=False, repr=False)


@records.dataclass
class Open:
    """Without slots."""

    name: str
    size: int = 3
    seen: list[str] = records.field(default_factory=list)
    doubled: int = records.field(init=False)

    def __post_init__(self) -> None:
        self.doubled = self.size * 2


@records.dataclass(slots=True)
class Slotted:
    value: int
    left: int = records.field(default=7, init=False)


@records.dataclass(eq=False, slots=True)
class Own:
    value: int


def test_fields_are_given_by_place_and_by_name_and_have_defaults() -> None:
    assert Point(1).y == 2
    point = Point(1, note="n", y=5)
    assert (point.x, point.y, point.tags, point.note, point.KIND) == (1, 5, [], "n", "point")


def test_what_a_factory_makes_is_not_shared() -> None:
    first, second = Open("a"), Open("b")
    first.seen.append("x")
    assert second.seen == []


def test_a_field_that_is_not_given_has_its_default_or_what_the_class_makes_of_it() -> None:
    assert Slotted(1).left == 7
    assert Open("a", 4).doubled == 8
    with pytest.raises(TypeError):
        Slotted(1, 2)  # type: ignore[call-arg]  # one too many


@pytest.mark.parametrize(
    "call",
    [
        lambda: Point(),  # type: ignore[call-arg]  # one is missing
        lambda: Point(1, z=2),  # type: ignore[call-arg]  # one is unknown
        lambda: Own(1, 2),  # type: ignore[call-arg]  # one too many
    ],
)
def test_what_does_not_fit_the_fields_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match="__init__"):
        call()


def test_equal_fields_make_equal_objects_with_equal_hashes() -> None:
    assert Point(1, note="a") == Point(1, note="b")
    assert hash(Point(1, tags=["a"])) == hash(Point(1))
    assert Point(1) != Point(2)
    other: object = (1, 2, [], "")
    assert Point(1) != other


def test_objects_that_can_change_have_no_hash_and_others_may_be_only_themselves() -> None:
    with pytest.raises(TypeError):
        hash(Slotted(1))
    assert Own(1) != Own(1)
    assert len({Own(1), Own(1)}) == 2


def test_what_is_frozen_cannot_be_changed() -> None:
    point = Point(1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]  # it is frozen
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert point.x == 1


def test_slots_leave_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Slotted(1).other = 1  # type: ignore[attr-defined]  # it has no such slot


def test_it_shows_its_fields() -> None:
    assert repr(Point(1)) == "Point(x=1, y=2, tags=[])"


def test_it_can_be_copied_pickled_and_replaced() -> None:
    point = Point(1, tags=["a"])
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
    assert dataclasses.replace(point, y=9) == Point(1, 9, ["a"])
    assert [one.name for one in dataclasses.fields(point)] == ["x", "y", "tags", "note"]
    assert dataclasses.asdict(Slotted(1)) == {"value": 1, "left": 7}


def test_it_is_matched_by_the_places_of_its_fields() -> None:
    match Point(4, 5):
        case Point(x, y):
            assert (x, y) == (4, 5)


def test_a_class_of_fields_that_follows_another_is_refused() -> None:
    with pytest.raises(TypeError, match="bases"):

        @records.dataclass
        class More(Own):
            other: int
