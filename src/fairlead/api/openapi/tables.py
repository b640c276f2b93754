"""Reads the tables of this package when the first document is built."""

from __future__ import annotations

from functools import cache

from fairlead.base.files import text_beside
from fairlead.base.release import Release


def is_exact(release: Release) -> bool:
    """Whether documents follow the reference in details that only programs see: shared parameters,
    defaults that say nothing, unions. Those of earlier releases are simpler."""
    return release.minor >= 36


@cache
def blocks(release: Release, name: str) -> dict[str, list[list[str]]]:
    """The indented lines of a table, split into words, by their header line."""
    result: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in release.select(text_beside(__file__, name)).splitlines():
        if not line or line[0] == "#":
            continue
        if line[0] != " ":
            rows = result.setdefault(line.strip(), [])
        else:
            rows.append(line.split())
    return result


@cache
def exceptions_of(release: Release, header: str) -> frozenset[tuple[str, str]]:
    """(type, field) of all fields under a header of `required.table`."""
    rows = blocks(release, "required.table")[header]
    return frozenset((row[0], name) for row in rows for name in row[1:])


@cache
def published_defaults(release: Release) -> frozenset[tuple[str, str]]:
    """(type, field) of all fields whose defaults documents have."""
    rows = blocks(release, "details.table")["defaults"]
    return frozenset((row[0], name) for row in rows for name in row[1:])


@cache
def unions(release: Release) -> dict[str, list[str]]:
    """The unions of `details.table` by type: the discriminator or `-`, and the fields."""
    rows = blocks(release, "details.table")["unions"]
    return {row[0]: row[1:] for row in rows}


@cache
def all_versions(release: Release, *, of_custom: bool) -> tuple[tuple[str, str], ...]:
    """Group and version of everything that has the types of all groups, as documents of custom or
    of other resources say; groups are without the dialect's domain."""
    details = blocks(release, "details.table")
    left_out = [row[0] for row in details["not-for-custom"]] if of_custom else []
    rows = [row for row in details["everywhere"] if row[0] not in left_out]
    return tuple((row[0].strip("-"), version) for row in rows for version in row[1:])


@cache
def parameters(release: Release, header: str) -> tuple[tuple[str, str], ...]:
    """(name, type) of the query parameters under a header of `parameters.table`."""
    rows = blocks(release, "parameters.table").get(header, [])
    return tuple((row[0], row[1]) for row in rows)
