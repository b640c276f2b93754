"""What tells a document from any other, known without making it."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

import fairlead
from fairlead import schema
from fairlead.dialect import Dialect
from fairlead.endpoints.openapi.knowledge import FindCustom
from fairlead.kinds.resources import GroupVersion, Resource


@cache
def sources(dialect: Dialect) -> str:
    """Stands for all that documents are made of beside the resources: clients keep a document
    for good under its hash, so a change of the type tables or of this package must show."""
    found = sha256(f"{fairlead.__version__} {dialect.name}".encode())
    for package, suffix in ((f"{schema.__name__}.builtin", ".types"), (__package__, "")):
        for file in sorted(files(package).iterdir(), key=lambda entry: entry.name):
            if file.name.endswith(suffix) and file.is_file():
                found.update(file.read_bytes())
    return found.hexdigest()


def of_name(dialect: Dialect, name: str) -> str:
    return _digest(sources(dialect), name)


def of_version(dialect: Dialect, found: GroupVersion, find_custom: FindCustom) -> str:
    return _digest(
        sources(dialect),
        found.api_version,
        *(_line(one, find_custom) for one in found.resources.values()),
    )


def of_all(parts: list[str]) -> str:
    return _digest(*parts)


def _line(resource: Resource, find_custom: FindCustom) -> str:
    custom = find_custom(resource)
    served = [resource, *resource.subresources.values()]
    facts = [f"{one.name} {one.kind} {','.join(one.verbs)}" for one in served]
    marks = (resource.namespaced, resource.returns_deleted, custom.identity if custom else "")
    facts += map(str, marks)
    return " ".join(facts)


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest().upper()
