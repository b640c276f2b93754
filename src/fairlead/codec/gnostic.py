"""Encodes OpenAPI documents as protobuf messages: version 2 here, version 3 in `gnostic_v3`.

Some clients read documents in this form only. A row of a message is `keyword  form  number`;
keywords without a row are dropped. Forms beside the scalars: `yaml` (any value, as text), `[F]`
(repeated), `{F}` (a message with pairs of name and value), a message name, and the choices.
Keywords that start with `x-` use the row of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from fairlead.codec.protobuf_wire import (
    BYTES,
    FIXED64,
    VARINT,
    delimited,
    double_bytes,
    key,
    varint,
)

_MESSAGES = """
Document
  swagger string 1, info Info 2, host string 3, basePath string 4, schemes [string] 5,
  consumes [string] 6, produces [string] 7, paths Paths 8, definitions {Schema} 9,
  parameters {SharedParameter} 10, security [{Strings}] 12,
  securityDefinitions {SecurityItem} 13, x- [Named] 16
Info
  title string 1, version string 2, description string 3, x- [Named] 7
PathItem
  get Operation 2, put Operation 3, post Operation 4, delete Operation 5, options Operation 6,
  head Operation 7, patch Operation 8, parameters [Parameter] 9, x- [Named] 10
Operation
  tags [string] 1, summary string 2, description string 3, operationId string 5,
  produces [string] 6, consumes [string] 7, parameters [Parameter] 8, responses {Response} 9,
  schemes [string] 10, deprecated bool 11, x- [Named] 13
BodyParameter
  description string 1, name string 2, in string 3, required bool 4, schema Schema 5, x- [Named] 6
QueryParameter
  required bool 1, in string 2, description string 3, name string 4, type string 6,
  format string 7, default yaml 10, uniqueItems bool 20, x- [Named] 23
PathParameter
  required bool 1, in string 2, description string 3, name string 4, type string 5,
  format string 6, default yaml 9, uniqueItems bool 19, x- [Named] 22
ResponseBody
  description string 1, schema SchemaItem 2, x- [Named] 5
Schema
  $ref string 1, format string 2, title string 3, description string 4, default yaml 5,
  multipleOf double 6, maximum double 7, exclusiveMaximum bool 8, minimum double 9,
  exclusiveMinimum bool 10, maxLength int64 11, minLength int64 12, pattern string 13,
  maxItems int64 14, minItems int64 15, uniqueItems bool 16, maxProperties int64 17,
  minProperties int64 18, required [string] 19, enum [yaml] 20, additionalProperties Additional 21,
  type Strings 22, items Items 23, allOf [Schema] 24, properties {Schema} 25,
  discriminator string 26, readOnly bool 27, example yaml 30, x- [Named] 31
Reference
  $ref string 1, description string 2, x- [Named] 3
ApiKey
  type string 1, name string 2, in string 3, description string 4, x- [Named] 5
"""

Encode = Callable[[Any], bytes]


def encode_document(value: Mapping[str, Any]) -> bytes:
    """Encode a document of version 2 as `openapi.v2.Document`."""
    return _form("Document")(value)


class Messages:
    """The encoders of the messages of a version. `choices` encode values with several forms."""

    def __init__(self, rows: str, choices: Mapping[str, Encode]) -> None:
        self._rows = _read(rows)
        self._forms = dict(choices)

    def form(self, form: str) -> Encode:
        """The encoder of a length-delimited value."""
        encoder = self._forms.get(form)
        if encoder is None:
            encoder = self._forms[form] = self._build_encoder(form)
        return encoder

    def _build_encoder(self, form: str) -> Encode:
        if form[0] == "{":
            return lambda value: pairs(1, value, self.form(form[1:-1]))
        return self._message(form)

    def _message(self, name: str) -> Encode:
        fields = {keyword: self._field(*row) for keyword, row in self._rows[name].items()}
        extension = self._rows[name]["x-"][1]

        def encode(value: Mapping[str, Any]) -> bytes:
            parts = []
            for keyword, inner in value.items():
                if keyword.startswith("x-"):
                    parts.append(part(extension, _pair(keyword, inner, yaml)))
                elif (field := fields.get(keyword)) is not None:
                    parts.append(field(inner))
            return b"".join(parts)

        return encode

    def _field(self, form: str, number: int) -> Encode:
        """The encoder of a field, including its key."""
        if form[0] == "[":
            encode_item = self._form_later(form[1:-1])
            head = key(number, BYTES)
            return lambda value: b"".join(delimited(head, encode_item(item)) for item in value)
        if form in ("bool", "int64"):
            head = key(number, VARINT)
            return lambda value: head + varint(int(value))
        if form == "double":
            head = key(number, FIXED64)
            return lambda value: head + double_bytes(float(value))
        head, encode_whole = key(number, BYTES), self._form_later(form)
        return lambda value: delimited(head, encode_whole(value))

    def _form_later(self, form: str) -> Encode:
        """Looks up an encoder on first use, because messages may contain themselves."""
        return lambda value: self.form(form)(value)


def _read(text: str) -> dict[str, dict[str, tuple[str, int]]]:
    table: dict[str, dict[str, tuple[str, int]]] = {}
    rows: dict[str, tuple[str, int]] = {}
    for line in text.strip().splitlines():
        if line[0] != " ":
            rows = table[line] = {}
            continue
        for entry in line.strip().rstrip(",").split(", "):
            name, form, number = entry.split()
            rows[name] = (form, int(number))
    return table


def part(number: int, body: bytes) -> bytes:
    return delimited(key(number, BYTES), body)


def _pair(name: str, value: Any, encode: Encode) -> bytes:
    return part(1, name.encode()) + part(2, encode(value))


def pairs(number: int, value: Mapping[str, Any], encode: Encode) -> bytes:
    return b"".join(part(number, _pair(name, inner, encode)) for name, inner in value.items())


def string(value: str) -> bytes:
    return value.encode()


def yaml(value: Any) -> bytes:
    """Encode any value as YAML text: JSON is valid YAML."""
    return part(2, orjson.dumps(value))


def _paths(value: Mapping[str, Any]) -> bytes:
    return pairs(2, value, _form("PathItem"))


def _strings(value: str | list[str]) -> bytes:
    listed = [value] if isinstance(value, str) else value
    return b"".join(part(1, item.encode()) for item in listed)


def _schema_item(value: Mapping[str, Any]) -> bytes:
    return part(1, _form("Schema")(value))


def _additional(value: Mapping[str, Any] | bool) -> bytes:
    if isinstance(value, bool):
        return key(2, VARINT) + varint(int(value))
    return _schema_item(value)


def _parameter(value: Mapping[str, Any]) -> bytes:
    if "$ref" in value:
        return part(2, _form("Reference")(value))
    return part(1, _shared_parameter(value))


def _shared_parameter(value: Mapping[str, Any]) -> bytes:
    if value["in"] == "body":
        return part(1, _form("BodyParameter")(value))
    number, form = (4, "PathParameter") if value["in"] == "path" else (3, "QueryParameter")
    return part(2, part(number, _form(form)(value)))


def _response(value: Mapping[str, Any]) -> bytes:
    return part(1, _form("ResponseBody")(value))


def _security_item(value: Mapping[str, Any]) -> bytes:
    return part(2, _form("ApiKey")(value))


_CHOICES: dict[str, Encode] = {
    "string": string,
    "yaml": yaml,
    "Paths": _paths,
    "Strings": _strings,
    "SchemaItem": _schema_item,
    "Items": _schema_item,
    "Additional": _additional,
    "Parameter": _parameter,
    "SharedParameter": _shared_parameter,
    "Response": _response,
    "SecurityItem": _security_item,
}
_SWAGGER = Messages(_MESSAGES, _CHOICES)


def _form(form: str) -> Encode:
    return _SWAGGER.form(form)
