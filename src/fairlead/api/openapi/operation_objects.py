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

_WORDS = {"200": "OK", "201": "Created", "202": "Accepted"}
_UNAUTHORIZED = {"description": "Unauthorized"}
_PRETTY = (("pretty", "string"),)


class Writer(ABC):
    """The part that both versions share."""

    def __init__(self, dialect: Dialect, names: Names) -> None:
        self._names = names
        binary = dialect.protobuf_media_type
        self._produced = media_types(dialect)
        self._streamed = (f"{JSON};stream=watch", f"{binary};stream=watch")

    def path(self, path: Path) -> dict[str, Any]:
        made = {one.method: self._operation(one) for one in path.operations}
        queried = (*parameters(path.parameters), *(_PRETTY if path.pretty else ()))
        shared = [self._placed(name) for name in sorted(path.placed)]
        shared += [self._queried(name, kind) for name, kind in queried]
        return {**made, "parameters": shared} if shared else made

    def _operation(self, one: Operation) -> dict[str, Any]:
        made: dict[str, Any] = {"operationId": one.id, "tags": [one.tag], **self._content(one)}
        listed = self._body_parameter(one)
        listed += [self._queried(name, kind) for name, kind in parameters(one.parameters)]
        if listed:
            made["parameters"] = listed
        made["responses"] = {
            code: {"description": _WORDS[code], **self._answer(one, schema)}
            for code, schema in one.answers.items()
        }
        made["responses"]["401"] = _UNAUTHORIZED
        if one.action:
            made[self._names.action] = one.action
        if one.kind is not None:
            made[self._names.kind] = one.kind
        return made

    def _writes(self, one: Operation) -> list[str]:
        if one.produces == ANYTHING:
            return ["*/*"]
        return [*self._produced, *(self._streamed if one.produces == STREAM else ())]

    def _reads(self, one: Operation) -> list[str]:
        if one.is_patch:
            return [kind for kind in TYPES if kind != STRATEGIC or not one.is_custom]
        return ["*/*"]

    @abstractmethod
    def _content(self, one: Operation) -> dict[str, Any]: ...

    @abstractmethod
    def _body_parameter(self, one: Operation) -> list[Schema]: ...

    @abstractmethod
    def _answer(self, one: Operation, schema: Schema) -> dict[str, Any]: ...

    @abstractmethod
    def _queried(self, name: str, kind: str) -> Schema: ...

    @abstractmethod
    def _placed(self, name: str) -> Schema: ...


class WriterV2(Writer):
    def _content(self, one: Operation) -> dict[str, Any]:
        return {"consumes": self._reads(one), "produces": self._writes(one), "schemes": ["https"]}

    def _body_parameter(self, one: Operation) -> list[Schema]:
        if one.body is None:
            return []
        made: Schema = {"in": "body", "name": "body", "schema": one.body}
        return [{**made, "required": True} if one.body_required else made]

    def _answer(self, one: Operation, schema: Schema) -> dict[str, Any]:
        return {"schema": schema}

    def _queried(self, name: str, kind: str) -> Schema:
        return {"in": "query", "name": name, "type": kind}

    def _placed(self, name: str) -> Schema:
        return {"in": "path", "name": name, "required": True, "type": "string"}


class WriterV3(Writer):
    def _content(self, one: Operation) -> dict[str, Any]:
        if one.body is None:
            return {}
        made: Schema = {"content": {kind: {"schema": one.body} for kind in self._reads(one)}}
        return {"requestBody": {**made, "required": True} if one.body_required else made}

    def _body_parameter(self, one: Operation) -> list[Schema]:
        return []

    def _answer(self, one: Operation, schema: Schema) -> dict[str, Any]:
        return {"content": {kind: {"schema": schema} for kind in self._writes(one)}}

    def _queried(self, name: str, kind: str) -> Schema:
        return {"in": "query", "name": name, "schema": {"type": kind}}

    def _placed(self, name: str) -> Schema:
        return {"in": "path", "name": name, "required": True, "schema": {"type": "string"}}
