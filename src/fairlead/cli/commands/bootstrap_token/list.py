"""`bootstrap-token list`: shows the bootstrap tokens."""

from __future__ import annotations

from datetime import UTC, datetime

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.bootstrap_tokens.tokens import Known, known, secrets_of
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables
from fairlead.cli.output.formats import add_document_flag, print_document, wants_document

_HEAD = ("TOKEN", "TTL", "EXPIRES", "USAGES", "DESCRIPTION", "EXTRA GROUPS")


def add_flags(parser: ArgumentReader) -> None:
    add_document_flag(parser)


async def run(invocation: Invocation) -> int:
    as_document = wants_document(invocation)
    resource, dialect = await secrets_of(invocation)
    listed = await resource.list(dialect.system_namespace)
    found = [one for one in (known(value, dialect) for value in listed["items"]) if one]
    if as_document:
        print_document(invocation, [_told(one) for one in found])
    elif found:
        now = datetime.now(UTC)
        rows = [tuple(cell or "<none>" for cell in _row(one, now)) for one in found]
        invocation.screen.print(tables.text([_HEAD, *rows]))
    return 0


def _row(one: Known, now: datetime) -> tuple[str, ...]:
    return (
        one.token,
        one.ttl(now),
        _expiry(one) or "<never>",
        ",".join(one.usages),
        _line(one.description),
        _line(one.groups),
    )


def _line(text: str) -> str:
    return " ".join(printable(text).split())


def _expiry(one: Known) -> str:
    return one.expires.strftime("%Y-%m-%dT%H:%M:%SZ") if one.expires is not None else ""


def _told(one: Known) -> dict[str, object]:
    told = {
        "token": one.token,
        "description": one.description,
        "expires": _expiry(one),
        "usages": one.usages,
        "groups": [group for group in one.groups.split(",") if group],
    }
    return {name: value for name, value in told.items() if value}
