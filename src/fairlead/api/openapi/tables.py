"""The tables of this package, read when the first document is made."""

from __future__ import annotations

from functools import cache

from fairlead.base.package_files import text_beside


@cache
def blocks(name: str) -> dict[str, list[list[str]]]:
    """A table's indented lines, as words, by the header that they stand under."""
    found: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in text_beside(__file__, name).splitlines():
        if not line or line[0] == "#":
            continue
        if line[0] != " ":
            rows = found.setdefault(line.strip(), [])
        else:
            rows.append(line.split())
    return found


@cache
def excepted(header: str) -> frozenset[tuple[str, str]]:
    """(type, field) for all fields that `required.table` lists under a header."""
    rows = blocks("required.table")[header]
    return frozenset((row[0], name) for row in rows for name in row[1:])


@cache
def parameters(header: str) -> tuple[tuple[str, str], ...]:
    """(name, type) of the query parameters that `parameters.table` lists under a header."""
    return tuple((row[0], row[1]) for row in blocks("parameters.table").get(header, []))
