"""Writes operations as OpenAPI 2 or 3."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from fairlead.api.negotiation import JSON, media_types
from fairlead.api.openapi.names import Names
from fairlead.api.openapi.operations import ANYTHING, STREAM, Operation, Path
from fairlead.api.openapi.schemas import Schema
from fairlead.api.openapi.tables import parameters
from fairlead.api.patch import STRATEGIC, TYPES
from fairlead.base.dialect import Dialect
from fairlead.base.release import Release

_WORDS = {"200": "OK", "201": "Created", "202": "Accepted"}
_UNAUTHORIZED = {"description": "Unauthorized"}
_PRETTY = (("pretty", "string"),)


class Writer(ABC):
    """The part that both versions share."""

    def __init__(self, dialect: Dialect, release: Release, names: Names) -> None:
        self._names = names
        self._release = release
        binary = dialect.protobuf_media_type
        self._produced = media_types(dialect)
        self._streamed = (f"{JSON};stream=watch", f"{binary};stream=watch")

    def path(self, path: Path) -> dict[str, Any]:
        result = {operation.method: self._operation(operation) for operation in path.operations}
        queried = (*parameters(self._release, path.parameters), *(_PRETTY if path.pretty else ()))
        shared = [self._placed(name) for name in sorted(path.placed)]
        shared += [self._queried(name, kind) for name, kind in queried]
        return {**result, "parameters": shared} if shared else result

    def _operation(self, operation: Operation) -> dict[str, Any]:
        result: dict[str, Any] = {
            "operationId": operation.id,
            "tags": [operation.tag],
            **self._content(operation),
        }
        parameter_objects = self._body_parameter(operation)
        parameter_objects += [
            self._queried(name, kind)
            for name, kind in parameters(self._release, operation.parameters)
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
        if operation.produces == ANYTHING:
            return ["*/*"]
        return [*self._produced, *(self._streamed if operation.produces == STREAM else ())]

    def _reads(self, operation: Operation) -> list[str]:
        if operation.is_patch:
            return [kind for kind in TYPES if kind != STRATEGIC or not operation.is_custom]
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
    def _content(self, operation: Operation) -> dict[str, Any]:
        return {
            "consumes": self._reads(operation),
            "produces": self._writes(operation),
            "schemes": ["https"],
        }

    def _body_parameter(self, operation: Operation) -> list[Schema]:
        if operation.body is None:
            return []
        parameter: Schema = {"in": "body", "name": "body", "schema": operation.body}
        return [{**parameter, "required": True} if operation.body_required else parameter]

    def _answer(self, operation: Operation, schema: Schema) -> dict[str, Any]:
        return {"schema": schema}

    def _queried(self, name: str, kind: str) -> Schema:
        return {"in": "query", "name": name, "type": kind}

    def _placed(self, name: str) -> Schema:
        return {"in": "path", "name": name, "required": True, "type": "string"}


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
        return {"in": "query", "name": name, "schema": {"type": kind}}

    def _placed(self, name: str) -> Schema:
        return {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}
