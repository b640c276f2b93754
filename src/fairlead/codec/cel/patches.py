"""The values that expressions of mutating policies construct: `Object{...}` and its parts such as
`Object.spec{...}`, and the operations of a JSON patch, `JSONPatch{op: "add", ...}`."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from fairlead.codec.cel.conversions import CONVERSIONS
from fairlead.codec.cel.costs import tenth
from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.library import Library, Messages, declared
from fairlead.codec.cel.types import DYN, STRING, ObjectType, Type
from fairlead.codec.cel.values import Duration, Timestamp, UInt, class_name, type_name

OBJECT, JSON_PATCH = "Object", "JSONPatch"


class PatchError(ValueError):
    """A constructed value that cannot be used; the text says why."""


class _AnyField(Mapping[str, Type]):
    """The fields of an Object: each name is one."""

    def __getitem__(self, name: str) -> Type:
        return DYN

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


_ANY_FIELD = _AnyField()
_OPERATION = ObjectType(JSON_PATCH, {"op": STRING, "path": STRING, "from": STRING, "value": DYN})


class Constructed(dict[str, Any]):
    """A constructed value: its fields, and the name of its type."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = name


def message_type(name: str) -> ObjectType | None:
    if name == JSON_PATCH:
        return _OPERATION
    if name == OBJECT or name.startswith(f"{OBJECT}."):
        return ObjectType(name, _ANY_FIELD)
    return None


def construct(name: str, fields: dict[str, Any]) -> Constructed:
    if name == JSON_PATCH:
        for field, value in fields.items():
            if field != "value" and type(value) is not str:
                raise EvaluationError(
                    f"unexpected type {class_name(value)} for JSONPatchType '{field}' field"
                )
    return Constructed(name, fields)


def _escape_key(text: str) -> str:
    return text.replace("~", "~0").replace("/", "~1")


LIBRARY = Library(
    declared([("jsonpatch.escapeKey", (STRING,), STRING)]),
    {"jsonpatch.escapeKey": {(str,): _escape_key}},
    {"jsonpatch.escapeKey": lambda text, result: tenth(len(text))},
    messages=Messages(message_type, construct),
)


def check_type_names(value: Any, path: str) -> None:
    """Check that the type of each constructed part is named after the fields that lead to it, such
    as `Object.spec.template`; raises PatchError."""
    errors = list(_wrong_names(value, path))
    if errors:
        raise PatchError("\n".join(errors))


def _wrong_names(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Constructed):
        if value.type_name != path:
            yield (
                f'unexpected type name "{value.type_name}", expected "{path}", which matches field'
                " name path from root Object type"
            )
        for name, item in value.items():
            yield from _wrong_names(item, f"{path}.{name}")
    elif isinstance(value, dict):
        for item in value.values():
            yield from _wrong_names(item, path)
    elif isinstance(value, list):
        for item in value:
            yield from _wrong_names(item, path)


_text = CONVERSIONS["string"]


def plain(value: Any) -> Any:
    """A value of an expression as JSON data; raises PatchError."""
    if isinstance(value, dict):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if type(value) is bytes:
        return b64encode(value).decode()
    if type(value) in (Timestamp, Duration):
        return _text[(type(value),)](value)
    if type(value) is UInt:
        return int(value)
    if type(value) is float and not isfinite(value):
        raise PatchError(f"{value} is not a number in JSON")
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise PatchError(f"unsupported type {type_name(value)}")


def _key(key: Any) -> str:
    if type(key) is not str:
        raise PatchError(f'map key "{key}" is of type {class_name(key)}, not string')
    return key
