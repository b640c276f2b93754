"""OpenAPI documents for tests, built without a server."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

from fairlead.api.openapi import OpenApi
from fairlead.api.openapi.answers import Page
from fairlead.api.openapi.documents import Builder, Steps
from fairlead.api.request import Request
from fairlead.api.routing import route
from fairlead.base.dialect import DIALECTS
from fairlead.base.release import V1_25, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.registry import Resources

Value = dict[str, Any]


def resources(dialect: str = "kubernetes", release: Release = V1_25) -> Resources:
    chosen = DIALECTS[dialect]
    return Resources(chosen, BuiltinTypes(chosen, release))


def builder(served: Resources) -> Builder:
    builtin = tuple((result.group, result.version) for result in served.group_versions())
    return Builder(served, builtin, lambda resource: None)


@cache
def swagger(dialect: str = "kubernetes", release: Release = V1_25) -> Value:
    """The whole document of version 2."""
    return _built(builder(resources(dialect, release)).swagger())


@cache
def version(group: str, name: str, dialect: str = "kubernetes") -> Value:
    """The document of version 3 of a group-version."""
    served = resources(dialect)
    return _built(builder(served).version(served.groups[group][name]))


def _built(steps: Steps) -> Value:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            value: Value = stop.value
            return value


def references(value: Any) -> set[str]:
    """Every `$ref` in a document."""
    if isinstance(value, list):
        return set().union(*map(references, value))
    if not isinstance(value, dict):
        return set()
    result = set().union(*map(references, value.values()))
    target = value.get("$ref")
    return result | {target} if isinstance(target, str) else result


def without_texts(value: Any) -> Any:
    """A schema without descriptions, and without the `allOf` that a description beside a `$ref`
    needs."""
    if isinstance(value, list):
        return [without_texts(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: without_texts(item)
        for key, item in value.items()
        if key != "description" or not isinstance(item, str)
    }
    whole: Any = kept["allOf"][0] if list(kept) == ["allOf"] else kept
    return whole


class Reply:
    """An answer as it went over the wire."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = gzip.decompress(body) if "content-encoding" in headers else body

    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    openapi: OpenApi, served: Resources, path: str, method: str = "GET", **headers: str
) -> Reply:
    """Headers are given by name with `_` for `-`."""
    where, _, query = path.partition("?")
    named = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    request = Request(method, where, query.encode(), named)
    request.target = route(served, method, where)
    answer = await openapi.answer(request)
    sent = answer.headers if isinstance(answer, Page) else answer.fields(request)
    output = {name.decode(): text.decode() for name, text in sent}
    assert isinstance(answer.body, bytes)
    if answer.code != 304:
        output["content-length"] = str(len(answer.body))
    return Reply(answer.code, output, answer.body)
