"""OpenAPI 2 as protobuf, read back with a separate parser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.openapi import swagger

from fairlead.codec.gnostic import encode_document
from fairlead.codec.protobuf_wire import double, fields, signed

Value = dict[str, Any]


def by_number(raw: bytes) -> dict[int, list[Any]]:
    result: dict[int, list[Any]] = {}
    for number, _, value in fields(raw):
        result.setdefault(number, []).append(value)
    return result


def pairs(raw: bytes, number: int = 1) -> dict[str, bytes]:
    named = [by_number(item) for item in by_number(raw).get(number, [])]
    return {item[1][0].decode(): item[2][0] for item in named}


def any_value(raw: bytes) -> Any:
    return json.loads(by_number(raw)[2][0])


def texts(values: list[bytes]) -> list[str]:
    return [value.decode() for value in values]


def extensions(values: list[bytes]) -> Value:
    named = [by_number(value) for value in values]
    return {item[1][0].decode(): any_value(item[2][0]) for item in named}


SCHEMA_TEXT = {1: "$ref", 2: "format", 3: "title", 4: "description", 13: "pattern"}
SCHEMA_NUMBER = {7: "maximum", 9: "minimum"}
SCHEMA_INTEGER = {11: "maxLength", 12: "minLength", 14: "maxItems"}


def schema(raw: bytes) -> Value:
    parsed: Value = {}
    for number, values in by_number(raw).items():
        first = values[0]
        if number in SCHEMA_TEXT:
            parsed[SCHEMA_TEXT[number]] = first.decode()
        elif number in SCHEMA_NUMBER:
            parsed[SCHEMA_NUMBER[number]] = double(first)
        elif number in SCHEMA_INTEGER:
            parsed[SCHEMA_INTEGER[number]] = signed(first)
        elif number == 19:
            parsed["required"] = texts(values)
        elif number == 20:
            parsed["enum"] = [any_value(value) for value in values]
        elif number == 21:
            inner = by_number(first)
            parsed["additionalProperties"] = (
                schema(inner[1][0]) if 1 in inner else bool(inner[2][0])
            )
        elif number == 22:
            parsed["type"] = texts(by_number(first)[1])[0]
        elif number == 23:
            parsed["items"] = schema(by_number(first)[1][0])
        elif number == 25:
            parsed["properties"] = {name: schema(inner) for name, inner in pairs(first).items()}
        elif number == 31:
            parsed.update(extensions(values))
        else:
            raise AssertionError(f"field {number}")
    return parsed


def parameter(raw: bytes) -> Value:
    choice = by_number(by_number(raw)[1][0])
    if 1 in choice:
        body = by_number(choice[1][0])
        value = {
            "in": body[3][0].decode(),
            "name": body[2][0].decode(),
            "schema": schema(body[5][0]),
        }
        return {**value, "required": True} if body.get(4) else value
    other = by_number(choice[2][0])
    type_number, [inner] = (6, other[3]) if 3 in other else (5, other[4])
    result = by_number(inner)
    value = {"in": result[2][0].decode(), "name": result[4][0].decode()}
    value["type"] = result[type_number][0].decode()
    return {**value, "required": True} if result.get(1) else value


def response(raw: bytes) -> Value:
    result = by_number(by_number(raw)[1][0])
    value: Value = {"description": result[1][0].decode()}
    if 2 in result:
        value["schema"] = schema(by_number(result[2][0])[1][0])
    return value


def operation(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {
        "operationId": result[5][0].decode(),
        "tags": texts(result[1]),
        "produces": texts(result[6]),
        "consumes": texts(result[7]),
        "schemes": texts(result[10]),
        "responses": {code: response(item) for code, item in pairs(result[9][0]).items()},
        **extensions(result.get(13, [])),
    }
    if 8 in result:
        value["parameters"] = [parameter(item) for item in result[8]]
    return value


METHODS = {2: "get", 3: "put", 4: "post", 5: "delete", 8: "patch"}


def path(raw: bytes) -> Value:
    result = by_number(raw)
    value: Value = {METHODS[n]: operation(result[n][0]) for n in result if n in METHODS}
    if 9 in result:
        value["parameters"] = [parameter(item) for item in result[9]]
    return value


@pytest.fixture(scope="module")
def message() -> dict[int, list[Any]]:
    return by_number(encode_document(swagger()))


def test_the_head(message: dict[int, list[Any]]) -> None:
    assert message[1] == [b"2.0"]
    assert by_number(message[2][0])[1] == [b"Kubernetes"]


def test_all_definitions_come_through(message: dict[int, list[Any]]) -> None:
    read = {name: schema(item) for name, item in pairs(message[9][0]).items()}
    assert read == swagger()["definitions"]


def test_all_paths_come_through(message: dict[int, list[Any]]) -> None:
    read = {name: path(item) for name, item in pairs(message[8][0], number=2).items()}
    assert read == swagger()["paths"]


def test_security_comes_through(message: dict[int, list[Any]]) -> None:
    item = by_number(pairs(message[13][0])["BearerToken"])
    assert texts([by_number(item[2][0])[n][0] for n in (1, 2, 3)]) == [
        "apiKey",
        "authorization",
        "header",
    ]
    assert pairs(message[12][0]) == {"BearerToken": b""}


def test_what_custom_schemas_may_say_comes_through() -> None:
    value = {
        "type": "object",
        "title": "T",
        "properties": {
            "a": {"type": "integer", "minimum": -1.5, "maximum": 3.0},
            "b": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^x"},
            "c": {"type": "object", "additionalProperties": True},
            "d": {},
        },
    }
    raw = encode_document({"definitions": {"x": value}})
    assert schema(pairs(by_number(raw)[9][0])["x"]) == value


def test_words_that_messages_have_no_field_for_are_left_out() -> None:
    raw = encode_document({"definitions": {"x": {"type": "string", "nullable": True}}})
    assert schema(pairs(by_number(raw)[9][0])["x"]) == {"type": "string"}
