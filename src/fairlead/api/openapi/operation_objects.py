"""Writes operations as OpenAPI 2 or 3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import orjson

from fairlead.api.negotiation import JSON, YAML, media_types
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.operations import ANYTHING, OBJECT, PLAIN, STREAM, Operation, Path
from fairlead.api.openapi.schemas import Schema
from fairlead.api.openapi.tables import is_exact, parameters
from fairlead.api.patch import STRATEGIC, TYPES
from fairlead.base.dialect import Dialect
from fairlead.base.release import Release

_WORDS = {"200": "OK", "201": "Created", "202": "Accepted"}
_UNAUTHORIZED = {"description": "Unauthorized"}
_PRETTY = (("pretty", "string"),)
# Clients look for these parameters in the operations themselves.
_NOT_SHARED = ("name", "dryRun", "fieldValidation")


class Writer(ABC):
    """The part that both versions share."""

    def __init__(self, dialect: Dialect, release: Release, names: Names) -> None:
        self._names = names
        self._release = release
        self._is_exact = is_exact(release)
        self._unique: Schema = {"uniqueItems": True} if self._is_exact else {}
        self.shared: dict[str, Schema] = {}  # parameters by name in the document
        binary = dialect.protobuf_media_type
        self._produced = media_types(dialect)
        self._streamed = (f"{JSON};stream=watch", f"{binary};stream=watch")

    def path(self, path: Path) -> dict[str, Any]:
        queried = (*parameters(self._release, path.parameters), *(_PRETTY if path.pretty else ()))
        common = self._common(path.operations)
        result = {
            operation.method: self._operation(operation, common) for operation in path.operations
        }
        shared = [(name, self._placed(name)) for name in sorted(path.placed)]
        shared += [(name, self._queried(name, kind)) for name, kind in (*queried, *common)]
        if self._is_exact:
            shared.sort(key=_first)
        objects = [schema for _, schema in shared]
        return {**result, "parameters": objects} if objects else result

    def _common(self, operations: Sequence[Operation]) -> list[tuple[str, str]]:
        """The parameters that all operations of a path have. They are those of the path in later
        releases."""
        if not self._is_exact:
            return []
        first, *others = (parameters(self._release, each.parameters) for each in operations)
        return [one for one in first if all(one in other for other in others)]

    def _operation(self, operation: Operation, common: Sequence[tuple[str, str]]) -> dict[str, Any]:
        result: dict[str, Any] = {
            "operationId": operation.id,
            "tags": [operation.tag],
            **self._content(operation),
        }
        parameter_objects = self._body_parameter(operation)
        parameter_objects += [
            self._queried(*parameter)
            for parameter in parameters(self._release, operation.parameters)
            if parameter not in common
        ]
        if parameter_objects:
            result["parameters"] = parameter_objects
        result["responses"] = {
            code: {"description": _WORDS[code], **self._answer(operation, schema)}
            for code, schema in operation.answers.items()
        }
        result["responses"]["401"] = _UNAUTHORIZED
        if operation.action:
            result[self._names.action] = operation.action
        if operation.kind is not None:
            result[self._names.kind] = operation.kind
        return result

    def _writes(self, operation: Operation) -> list[str]:
        if self._is_exact and operation.is_custom:
            return [JSON, YAML]
        if operation.produces == ANYTHING:
            return ["*/*"]
        if operation.produces == PLAIN:
            return ["text/plain", *self._produced]
        if operation.produces not in (OBJECT, STREAM):
            return [operation.produces]
        return [*self._produced, *(self._streamed if operation.produces == STREAM else ())]

    def _reads(self, operation: Operation) -> list[str]:
        if operation.is_patch:
            return [kind for kind in TYPES if kind != STRATEGIC or not operation.is_custom]
        if self._is_exact and (operation.is_overview or operation.is_custom):
            return self._writes(operation)
        return ["*/*"]

    @abstractmethod
    def _content(self, operation: Operation) -> dict[str, Any]: ...

    @abstractmethod
    def _body_parameter(self, operation: Operation) -> list[Schema]: ...

    @abstractmethod
    def _answer(self, operation: Operation, schema: Schema) -> dict[str, Any]: ...

    @abstractmethod
    def _queried(self, name: str, kind: str) -> Schema: ...

    @abstractmethod
    def _placed(self, name: str) -> Schema: ...


class WriterV2(Writer):
    """Puts parameters that many operations have into `shared`, in later releases."""

    def _content(self, operation: Operation) -> dict[str, Any]:
        content = {
            "consumes": self._reads(operation),
            "produces": self._writes(operation),
            "schemes": ["https"],
        }
        if not operation.consumes:
            del content["consumes"]
        return content

    def _body_parameter(self, operation: Operation) -> list[Schema]:
        if operation.body is None:
            return []
        parameter: Schema = {"in": "body", "name": "body", "schema": operation.body}
        if operation.body_required:
            parameter["required"] = True
        if ".apimachinery." in operation.body.get("$ref", ""):
            return [self._placed_once(parameter)]
        return [parameter]

    def _answer(self, operation: Operation, schema: Schema) -> dict[str, Any]:
        return {"schema": schema}

    def _queried(self, name: str, kind: str) -> Schema:
        return self._placed_once({"in": "query", "name": name, "type": kind, **self._unique})

    def _placed(self, name: str) -> Schema:
        parameter = {"in": "path", "name": name, "required": True, "type": "string"}
        return self._placed_once({**parameter, **self._unique})

    def _placed_once(self, parameter: Schema) -> Schema:
        if not self._is_exact or parameter["name"] in _NOT_SHARED:
            return parameter
        digest = blake2b(orjson.dumps(parameter), digest_size=6).digest()
        name = f"{parameter['name']}-{urlsafe_b64encode(digest).decode()}"
        self.shared[name] = parameter
        return {"$ref": f"#/parameters/{name}"}


class WriterV3(Writer):
    def _content(self, operation: Operation) -> dict[str, Any]:
        if operation.body is None:
            return {}
        body: Schema = {
            "content": {kind: {"schema": operation.body} for kind in self._reads(operation)}
        }
        return {"requestBody": {**body, "required": True} if operation.body_required else body}

    def _body_parameter(self, operation: Operation) -> list[Schema]:
        return []

    def _answer(self, operation: Operation, schema: Schema) -> dict[str, Any]:
        return {"content": {kind: {"schema": schema} for kind in self._writes(operation)}}

    def _queried(self, name: str, kind: str) -> Schema:
        return {"in": "query", "name": name, "schema": {"type": kind, **self._unique}}

    def _placed(self, name: str) -> Schema:
        schema = {"type": "string", **self._unique}
        return {"in": "path", "name": name, "required": True, "schema": schema}


def _first(pair: tuple[str, Schema]) -> str:
    return pair[0]
