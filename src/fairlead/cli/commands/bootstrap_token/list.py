"""`bootstrap-token list`: shows the bootstrap tokens."""

from __future__ import annotations

from datetime import UTC, datetime

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.bootstrap_tokens.tokens import BootstrapToken, read_secret, secrets_of
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
    tokens = [
        token for token in (read_secret(value, dialect) for value in listed["items"]) if token
    ]
    if as_document:
        print_document(invocation, [_document(token) for token in tokens])
    elif tokens:
        now = datetime.now(UTC)
        rows = [tuple(cell or "<none>" for cell in _row(token, now)) for token in tokens]
        invocation.screen.print(tables.text([_HEAD, *rows], invocation.screen, _HEAD))
    return 0


def _row(token: BootstrapToken, now: datetime) -> tuple[str, ...]:
    return (
        token.token,
        token.ttl(now),
        _expiry(token) or "<never>",
        ",".join(token.usages),
        _line(token.description),
        _line(token.groups),
    )


def _line(text: str) -> str:
    return " ".join(printable(text).split())


def _expiry(token: BootstrapToken) -> str:
    return token.expires.strftime("%Y-%m-%dT%H:%M:%SZ") if token.expires is not None else ""


def _document(token: BootstrapToken) -> dict[str, object]:
    fields = {
        "token": token.token,
        "description": token.description,
        "expires": _expiry(token),
        "usages": token.usages,
        "groups": [group for group in token.groups.split(",") if group],
    }
    return {name: value for name, value in fields.items() if value}
