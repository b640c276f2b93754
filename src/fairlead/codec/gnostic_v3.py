"""Encodes OpenAPI 3.0 documents as protobuf messages `openapi.v3.Document`; see `gnostic`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.codec.gnostic import Encode, Messages, pairs, part, string, yaml
from fairlead.codec.protobuf_wire import FIXED64, VARINT, double_bytes, key, varint

_MESSAGES = """
Document
  openapi string 1, info Info 2, paths Paths 4, components Components 5, x- [Named] 9
Info
  title string 1, description string 2, version string 6, x- [Named] 7
Components
  schemas {SchemaItem} 1, securitySchemes {SecurityItem} 7, x- [Named] 10
PathItem
  summary string 2, description string 3, get Operation 4, put Operation 5, post Operation 6,
  delete Operation 7, options Operation 8, head Operation 9, patch Operation 10,
  trace Operation 11, parameters [ParameterItem] 13, x- [Named] 14
Operation
  tags [string] 1, summary string 2, description string 3, operationId string 5,
  parameters [ParameterItem] 6, requestBody BodyItem 7, responses Responses 8,
  deprecated bool 10, x- [Named] 13
Parameter
  name string 1, in string 2, description string 3, required bool 4, deprecated bool 5,
  schema SchemaItem 10, content {MediaType} 13, x- [Named] 14
RequestBody
  description string 1, content {MediaType} 2, required bool 3, x- [Named] 4
Response
  description string 1, content {MediaType} 3, x- [Named] 5
MediaType
  schema SchemaItem 1, x- [Named] 5
Schema
  nullable bool 1, readOnly bool 3, writeOnly bool 4, example yaml 7, deprecated bool 8,
  title string 9, multipleOf double 10, maximum double 11, exclusiveMaximum bool 12,
  minimum double 13, exclusiveMinimum bool 14, maxLength int64 15, minLength int64 16,
  pattern string 17, maxItems int64 18, minItems int64 19, uniqueItems bool 20,
  maxProperties int64 21, minProperties int64 22, required [string] 23, enum [yaml] 24,
  type string 25, allOf [SchemaItem] 26, oneOf [SchemaItem] 27, anyOf [SchemaItem] 28,
  not Schema 29, items Items 30, properties {SchemaItem} 31, additionalProperties Additional 32,
  default Default 33, description string 34, format string 35, x- [Named] 36
SecurityScheme
  type string 1, description string 2, name string 3, in string 4, scheme string 5,
  bearerFormat string 6, openIdConnectUrl string 8, x- [Named] 9
"""


def encode_document(value: Mapping[str, Any]) -> bytes:
    return _form("Document")(value)


def _or_reference(form: str) -> Encode:
    """The encoder of a message, or of a reference to one."""

    def encode(value: Mapping[str, Any]) -> bytes:
        if "$ref" in value:
            return part(2, part(1, string(value["$ref"])))
        return part(1, _form(form)(value))

    return encode


_schema_item, _response = _or_reference("Schema"), _or_reference("Response")


def _paths(value: Mapping[str, Any]) -> bytes:
    return pairs(1, value, _form("PathItem"))


def _responses(value: Mapping[str, Any]) -> bytes:
    by_code = {code: response for code, response in value.items() if code != "default"}
    default = part(1, _response(value["default"])) if "default" in value else b""
    return default + pairs(2, by_code, _response)


def _items(value: Mapping[str, Any]) -> bytes:
    return part(1, _schema_item(value))


def _additional(value: Mapping[str, Any] | bool) -> bytes:
    if isinstance(value, bool):
        return key(2, VARINT) + varint(int(value))
    return part(1, _schema_item(value))


def _default(value: Any) -> bytes:
    """Encode a scalar; the message has no field for other defaults."""
    if isinstance(value, bool):
        return key(2, VARINT) + varint(int(value))
    if isinstance(value, int | float):
        return key(1, FIXED64) + double_bytes(float(value))
    return part(3, string(value)) if isinstance(value, str) else b""


_DOCUMENT = Messages(
    _MESSAGES,
    {
        "string": string,
        "yaml": yaml,
        "Paths": _paths,
        "Responses": _responses,
        "Items": _items,
        "Additional": _additional,
        "Default": _default,
        "SchemaItem": _schema_item,
        "ParameterItem": _or_reference("Parameter"),
        "BodyItem": _or_reference("RequestBody"),
        "SecurityItem": _or_reference("SecurityScheme"),
    },
)


def _form(form: str) -> Encode:
    return _DOCUMENT.form(form)
