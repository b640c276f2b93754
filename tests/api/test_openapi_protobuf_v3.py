"""The protobuf form of the new version, read back with a reader of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.openapi import version

from fairlead.codec.gnostic_v3 import encode_document
from fairlead.codec.protobuf_wire import double, fields

Value = dict[str, Any]
Read = Callable[[bytes], Any]

TEXTS = {9: "title", 17: "pattern", 25: "type", 34: "description", 35: "format"}
LISTS = {26: "allOf", 27: "oneOf", 28: "anyOf"}
METHODS = {4: "get", 5: "put", 6: "post", 7: "delete", 8: "options", 9: "head", 10: "patch"}


def by_number(raw: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, _, value in fields(raw):
        found.setdefault(number, []).append(value)
    return found


def pairs(raw: bytes, read: Read, number: int = 1) -> Value:
    named = [by_number(one) for one in by_number(raw).get(number, [])]
    return {one[1][0].decode(): read(one[2][0]) for one in named}


def any_value(raw: bytes) -> Any:
    return json.loads(by_number(raw)[2][0])


def extensions(values: list[bytes]) -> Value:
    named = [by_number(one) for one in values]
    return {one[1][0].decode(): any_value(one[2][0]) for one in named}


def choice(read: Read) -> Read:
    def of_message(raw: bytes) -> Any:
        found = by_number(raw)
        return read(found[1][0]) if 1 in found else {"$ref": by_number(found[2][0])[1][0].decode()}

    return of_message


def default(raw: bytes) -> Any:
    """Objects have no place in a default: what is not there was one."""
    found = by_number(raw)
    if 1 in found:
        return double(found[1][0])
    return bool(found[2][0]) if 2 in found else found[3][0].decode() if 3 in found else {}


def schema(raw: bytes) -> Value:
    made: Value = {}
    item = choice(schema)
    for number, values in by_number(raw).items():
        if number in TEXTS:
            made[TEXTS[number]] = values[0].decode()
        elif number in LISTS:
            made[LISTS[number]] = [item(one) for one in values]
        elif number == 23:
            made["required"] = [one.decode() for one in values]
        elif number == 24:
            made["enum"] = [any_value(one) for one in values]
        elif number == 30:
            made["items"] = item(by_number(values[0])[1][0])
        elif number == 31:
            made["properties"] = pairs(values[0], item)
        elif number == 32:
            inner = by_number(values[0])
            made["additionalProperties"] = item(inner[1][0]) if 1 in inner else bool(inner[2][0])
        elif number == 33:
            made["default"] = default(values[0])
        else:
            assert number == 36
            made.update(extensions(values))
    return made


def content(raw: bytes) -> Value:
    return pairs(raw, lambda one: {"schema": choice(schema)(by_number(one)[1][0])})


def parameter(raw: bytes) -> Value:
    found = by_number(raw)
    made: Value = {"name": found[1][0].decode(), "in": found[2][0].decode()}
    made["schema"] = choice(schema)(found[10][0])
    return {**made, "required": True} if 4 in found else made


def body(raw: bytes) -> Value:
    found = by_number(raw)
    made: Value = {"content": content(found[2][0])}
    return {**made, "required": True} if 3 in found else made


def response(raw: bytes) -> Value:
    found = by_number(raw)
    made: Value = {"description": found[1][0].decode()} if 1 in found else {}
    return {**made, "content": content(found[3][0])} if 3 in found else made


def operation(raw: bytes) -> Value:
    found = by_number(raw)
    made: Value = {
        "operationId": found[5][0].decode(),
        "tags": [one.decode() for one in found[1]],
        "responses": pairs(found[8][0], choice(response), number=2),
        **extensions(found.get(13, [])),
    }
    if 6 in found:
        made["parameters"] = [choice(parameter)(one) for one in found[6]]
    if 7 in found:
        made["requestBody"] = choice(body)(found[7][0])
    return made


def path(raw: bytes) -> Value:
    found = by_number(raw)
    made: Value = {METHODS[n]: operation(found[n][0]) for n in found if n in METHODS}
    if 13 in found:
        made["parameters"] = [choice(parameter)(one) for one in found[13]]
    return made


@pytest.fixture(scope="module")
def message() -> dict[int, list[Any]]:
    return by_number(encode_document(version("apps", "v1")))


def test_the_head(message: dict[int, list[Any]]) -> None:
    assert message[1] == [b"3.0.0"]
    assert by_number(message[2][0])[1] == [b"Kubernetes"]


def test_all_schemas_come_through(message: dict[int, list[Any]]) -> None:
    read = pairs(by_number(message[5][0])[1][0], choice(schema))
    assert read == version("apps", "v1")["components"]["schemas"]


def test_all_paths_come_through(message: dict[int, list[Any]]) -> None:
    assert pairs(message[4][0], path) == version("apps", "v1")["paths"]
