"""Checks an object against its type, as strictly as apply requires, and explains the problems.

Apply refuses unknown fields, values of another type and list items without unique keys, whatever
the field validation level; a dialect may drop unknown fields and retry. The messages are the
reference's, which prints values in Go syntax.
"""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.mismatch import plain_text, source_text, type_text
from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.conflicts import BadConfiguration, InvalidConfiguration, UntrackableObject
from fairlead.fields.entries import entries_of
from fairlead.fields.field_sets import element_text
from fairlead.fields.shapes import (
    UNDECLARED,
    Free,
    Items,
    KeySteps,
    Listing,
    Plan,
    Record,
    Shape,
    Single,
    Steps,
    Untrackable,
    have_unique_keys,
    shape_of,
)
from fairlead.fields.walk import Parts, Walker

_Path = tuple[Any, Steps | None, Any] | None
"""The path of the value around a part, and the part: its step, or the item that the steps of a list
give a step to. Put into words only when there is a problem."""


def check_configuration(struct: Struct, config: Object, api_version: str) -> None:
    """Raise `BadConfiguration` if the version is wrong or `managedFields` is set, and
    `InvalidConfiguration` if the configuration does not match its type."""
    version = config.get("apiVersion")
    if version != api_version:
        if not isinstance(version, str) or version.count("/") > 1:
            version = ""  # a malformed version is shown as empty
        raise BadConfiguration(
            "Incorrect version specified in apply patch."
            f" Specified patch version: {version}, expected: {api_version}"
        )
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadConfiguration("metadata.managedFields must be nil")
    check_type(struct, config)


def check_type(struct: Struct, config: Object) -> None:
    """Raise `InvalidConfiguration` with all problems of a configuration, if it has any."""
    errors = problems(struct, config)
    if errors:
        raise InvalidConfiguration(
            f"failed to create typed patch object ({_description(config)}): {explanation(errors)}"
        )


def untrackable(struct: Struct, live: Object) -> UntrackableObject:
    """The error for applying to an object that has list items without unique keys."""
    reason = explanation(problems(struct, live) or ["list items cannot be told apart"])
    if entries_of(live):
        return UntrackableObject(
            f"failed to create typed live object ({_description(live)}): {reason}"
        )
    return UntrackableObject(
        "failed to create manager for existing fields:"
        f" failed to convert new object ({_description(live)}) to smd typed: {reason}"
    )


def _description(value: Object) -> str:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    return (
        f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''};"
        f" {group}/{version}, Kind={value.get('kind', '')}"
    )


def problems(struct: Struct, value: Any) -> list[str]:
    """Every problem of an object, with its path; empty if the object matches the type."""
    checker = _Checker()
    checker.walk(shape_of(struct), value)
    return [f"{_text(path)}: {message}" if path else message for path, message in checker.errors]


def explanation(errors: list[str]) -> str:
    """The problems as one message."""
    return errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])


def _text(path: _Path) -> str:
    if path is None:
        return ""
    parent, steps, step = path
    return _text(parent) + element_text(step if steps is None else steps.element(step))


class _Checker(Walker):
    """Finds the problems of a value; null is of every type. Other than the walk for ownership, it
    descends into atomic values."""

    def __init__(self) -> None:
        super().__init__(sees_leaves=True, in_order=False)
        self.path: _Path = None
        self.errors: list[tuple[_Path, str]] = []

    def fields(self, shape: Record, plan: Plan, value: dict[str, Any]) -> Parts:
        return _Checked(self)

    def entries(self, shape: Shape, value: Any) -> Parts:
        return _Checked(self)

    def mismatch(self, shape: Shape, value: Any) -> Any:
        self.add(f"expected map, got &{{{plain_text(value)}}}")

    def single(self, shape: Shape, value: Any) -> Any:
        if isinstance(shape, Listing):
            if self._is_list(value):
                for index, item in enumerate(value):
                    self.check(shape.item, item, None, f"i:{index}")
        elif isinstance(shape, Single):
            if not shape.accepted:
                self.walk(shape.content, value)
            elif type(value) not in shape.accepted:
                self.add(_other_type(shape.accepted, value))

    def walk_items(self, shape: Items, value: Any) -> Any:
        if not self._is_list(value):
            return
        items: list[Any] = value
        is_unique = have_unique_keys(items, shape.steps.key)
        seen: set[str] = set()
        for index, item in enumerate(items):
            if not is_unique:
                try:
                    element = _element(shape, item)
                except Untrackable:
                    self.add(f"element {index}: {_unnamable(shape, item)}")
                    return
                if element in seen:
                    self.add(f"duplicate entries for key {element_text(element)}")
                seen.add(element)
            self.check(shape.item, item, shape.steps, item)

    def _is_list(self, value: Any) -> bool:
        if isinstance(value, list):
            return True
        self.add(f"expected list, got &{{{plain_text(value)}}}")
        return False

    def check(self, shape: Shape, value: Any, steps: Steps | None, step: Any) -> None:
        """Check a part; see `_Path`."""
        if value is None or isinstance(shape, Free):
            return
        if isinstance(shape, Single) and type(value) in shape.accepted:
            return
        parent = self.path
        self.path = parent, steps, step
        self.walk(shape, value)
        self.path = parent

    def add(self, message: str) -> None:
        self.errors.append((self.path, message))


class _Checked(Parts):
    """Checks the parts of an object or list."""

    def __init__(self, checker: _Checker) -> None:
        self._checker = checker

    def leaf(self, element: str, shape: Single, value: Any) -> None:
        if shape is UNDECLARED:
            path = self._checker.path, None, element
            self._checker.errors.append((path, "field not declared in schema"))
        elif type(value) not in shape.accepted:
            self._checker.check(shape, value, None, element)

    def part(self, element: str, shape: Shape, value: Any) -> None:
        self._checker.check(shape, value, None, element)

    def result(self) -> Any:
        return None


def _element(shape: Items, item: Any) -> str:
    if not isinstance(shape.steps, KeySteps) and (item is None or isinstance(item, (dict, list))):
        raise Untrackable
    return shape.steps.element(item)


def _unnamable(shape: Items, item: Any) -> str:
    """Why an item has no path step."""
    steps = shape.steps
    if not isinstance(steps, KeySteps):
        if isinstance(item, dict):
            return "associative list without keys has an element that's a map type"
        if isinstance(item, list):
            return "not supported: associative list with lists as elements"
        return "associative list without keys has an element that's an explicit null"
    if item is None:
        return "associative list with keys may not have a null element"
    if not isinstance(item, dict):
        return "associative list with keys may not have non-map elements"
    if steps.partial:
        names = " ".join(f'"{name}"' for name in steps.names)
        return (
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    missing = [key.name for key in steps.keys if key.name not in item and key.default is None]
    missing_key = next(name for name in steps.names if name in missing)
    return (
        f'associative list with keys has an element that omits key field "{missing_key}"'
        " (and doesn't have default value)"
    )


def _other_type(accepted: tuple[type, ...], value: Any) -> str:
    if accepted == (str,):
        return f"expected string, got &value.valueUnstructured{{Value:{source_text(value)}}}"
    if accepted == (int, float):
        return f"expected numeric (int or float), got {type_text(value)}"
    if accepted == (bool,):
        return f"expected boolean, got &{{{plain_text(value)}}}"
    return f"expected any scalar, got &{{{plain_text(value)}}}"
