"""Reads the values of environment variables from ConfigMaps and Secrets."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from fairlead.client import Client

Object = dict[str, Any]
REFERENCES = {"configmaps": "configMapKeyRef", "secrets": "secretKeyRef"}  # fields of valueFrom


class Sources:
    """The ConfigMaps and Secrets of a namespace. Each is read once."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._data: dict[tuple[str, str], dict[str, str]] = {}

    async def resolved(self, entry: Object) -> Object:
        """The variable with its value; unchanged if that comes from no ConfigMap or Secret. Raises
        ApiError, and LookupError if the key does not exist."""
        source = entry.get("valueFrom") or {}
        for plural, field in REFERENCES.items():
            if reference := source.get(field):
                name, key = str(reference.get("name")), str(reference.get("key"))
                data = await self._read(plural, name)
                if key not in data:
                    raise LookupError(f"{plural.removesuffix('s')} {name} has no key {key}")
                text = data[key]
                if plural == "secrets":
                    text = b64decode(text).decode(errors="backslashreplace")
                return {"name": entry["name"], "value": text}
        return entry

    async def _read(self, plural: str, name: str) -> dict[str, str]:
        if (plural, name) not in self._data:
            resource = await self._client.resource(plural)
            value = await resource.get(name, self._namespace)
            self._data[plural, name] = value.get("data") or {}
        return self._data[plural, name]
