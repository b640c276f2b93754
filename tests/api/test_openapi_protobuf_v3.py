"""OpenAPI 3 as protobuf, read back with a separate parser."""

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
    result: dict[int, list[Any]] = {}
    for number, _, value in fields(raw):
        result.setdefault(number, []).append(value)
    return result


def pairs(raw: bytes, read: Read, number: int = 1) -> Value:
    named = [by_number(item) for item in by_number(raw).get(number, [])]
    return {item[1][0].decode(): read(item[2][0]) for item in named}


def any_value(raw: bytes) -> Any:
    return json.loads(by_number(raw)[2][0])


def extensions(values: list[bytes]) -> Value:
    named = [by_number(value) for value in values]
    return {item[1][0].decode(): any_value(item[2][0]) for item in named}


def choice(read: Read) -> Read:
    def of_message(raw: bytes) -> Any:
        result = by_number(raw)
        return (
            read(result[1][0]) if 1 in result else {"$ref": by_number(result[2][0])[1][0].decode()}
        )

    return of_message


def default(raw: bytes) -> Any:
    """Objects cannot be encoded in a default: a missing one was an object."""
    result = by_number(raw)
    if 1 in result:
        return double(result[1][0])
    return bool(result[2][0]) if 2 in result else result[3][0].decode() if 3 in result else {}


def schema(raw: bytes) -> Value:
    parsed: Value = {}
    item = choice(schema)
    for number, values in by_number(raw).items():
        if number in TEXTS:
            parsed[TEXTS[number]] = values[0].decode()
        elif number in LISTS:
            parsed[LISTS[number]] = [item(part) for part in values]
        elif number == 23:
            parsed["required"] = [part.decode() for part in values]
        elif number == 24:
            parsed["enum"] = [any_value(part) for part in values]
        elif number == 30:
            parsed["items"] = item(by_number(values[0])[1][0])
        elif number == 31:
            parsed["properties"] = pairs(values[0], item)
        elif number == 32:
            inner = by_number(values[0])
            parsed["additionalProperties"] = item(inner[1][0]) if 1 in inner else bool(inner[2][0])
        elif number == 33:
            parsed["default"] = default(values[0])
        else:
            assert number == 36
            parsed.update(extensions(values))
    return parsed


def content(raw: bytes) -> Value:
    return pairs(raw, lambda item: {"schema": choice(schema)(by_number(item)[1][0])})


def parameter(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {"name": result[1][0].decode(), "in": result[2][0].decode()}
    value["schema"] = choice(schema)(result[10][0])
    return {**value, "required": True} if 4 in result else value


def body(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {"content": content(result[2][0])}
    return {**value, "required": True} if 3 in result else value


def response(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {"description": result[1][0].decode()} if 1 in result else {}
    return {**value, "content": content(result[3][0])} if 3 in result else value


def operation(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {
        "operationId": result[5][0].decode(),
        "tags": [item.decode() for item in result[1]],
        "responses": pairs(result[8][0], choice(response), number=2),
        **extensions(result.get(13, [])),
    }
    if 6 in result:
        value["parameters"] = [choice(parameter)(item) for item in result[6]]
    if 7 in result:
        value["requestBody"] = choice(body)(result[7][0])
    return value


def path(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {METHODS[n]: operation(result[n][0]) for n in result if n in METHODS}
    if 13 in result:
        value["parameters"] = [choice(parameter)(item) for item in result[13]]
    return value


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
