"""Queries for objects related to a described object. API errors are returned in the result, not
raised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.cli.describe.fields import Fields
from fairlead.client import ApiError, Client, ResourceType

PODS = ResourceType("", "v1", "pods", "Pod", True)
EVENTS = ResourceType("", "v1", "events", "Event", True)
SERVICES = ResourceType("", "v1", "services", "Service", True)
ENDPOINTS = ResourceType("", "v1", "endpoints", "Endpoints", True)
SECRETS = ResourceType("", "v1", "secrets", "Secret", True)
QUOTAS = ResourceType("", "v1", "resourcequotas", "ResourceQuota", True)
LIMITS = ResourceType("", "v1", "limitranges", "LimitRange", True)
REPLICA_SETS = ResourceType("apps", "v1", "replicasets", "ReplicaSet", True)


@dataclass(slots=True)
class QueryResult:
    """The result of a query: objects, or the error."""

    items: list[Fields] = field(default_factory=list)
    error: ApiError | None = None

    @property
    def first(self) -> Fields:
        return self.items[0] if self.items else Fields(None)


class Queries:
    """Queries the server in pages of `chunk` objects; 0 requests all at once."""

    def __init__(self, client: Client, dialect: Dialect, chunk: int) -> None:
        self.dialect = dialect
        self._client = client
        self._chunk = chunk

    async def list(self, type: ResourceType, namespace: str, **query: Any) -> QueryResult:
        try:
            answer = await self._client.of(type).list(namespace, limit=self._chunk, **query)
        except ApiError as error:
            return QueryResult(error=error)
        return QueryResult(Fields(answer).items("items"))

    async def get(self, type: ResourceType, name: str, namespace: str) -> QueryResult:
        if not name:
            return QueryResult()
        try:
            return QueryResult([Fields(await self._client.of(type).get(name, namespace))])
        except ApiError as error:
            return QueryResult(error=error)

    async def events(self, namespace: str, about: Mapping[str, str]) -> QueryResult:
        terms = (f"involvedObject.{key}={_escaped(value)}" for key, value in about.items())
        return await self.list(EVENTS, namespace, fieldSelector=",".join(terms))


def _escaped(value: str) -> str:
    """Escape the special characters of a field selector value."""
    for mark in ("\\", ",", "="):
        value = value.replace(mark, f"\\{mark}")
    return value
