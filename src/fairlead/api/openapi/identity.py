"""Digests of documents, computed without building them."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

import fairlead
from fairlead.api.openapi.knowledge import FindCustom
from fairlead.base.dialect import Dialect
from fairlead.codec.types import builtin
from fairlead.resources.registry import GroupVersion, Resource


@cache
def sources(dialect: Dialect, release: str) -> str:
    """A digest of everything that documents depend on beside the resources. Clients cache a
    document forever under its digest, so a change of the type tables or of this package must change
    it."""
    digest = sha256(f"{fairlead.__version__} {release} {dialect.name}".encode())
    for directory, suffix in (
        (Path(builtin.__file__).parent, (".types", ".texts")),
        (Path(__file__).parent, ("",)),
    ):
        for file in sorted(directory.iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(suffix) and file.is_file():
                digest.update(file.read_bytes())
    return digest.hexdigest()


def of_name(base: str, name: str) -> str:
    """The digest of a named document; `base` is the result of `sources`."""
    return _digest(base, name)


def of_version(base: str, group_version: GroupVersion, find_custom: FindCustom) -> str:
    return _digest(
        base,
        group_version.api_version,
        *(_line(resource, find_custom) for resource in group_version.resources.values()),
    )


def of_all(parts: list[str]) -> str:
    return _digest(*parts)


def _line(resource: Resource, find_custom: FindCustom) -> str:
    custom = find_custom(resource)
    served = [resource, *resource.subresources.values()]
    facts = [f"{part.name} {part.kind} {','.join(part.verbs)}" for part in served]
    values = (resource.namespaced, resource.returns_deleted, custom.identity if custom else "")
    facts += map(str, values)
    return " ".join(facts)


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest().upper()
