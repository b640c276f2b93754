"""Bootstrap tokens and their Secrets."""

from __future__ import annotations

import re
import secrets
import string
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from fairlead.base.dialect import Dialect
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.client import Resource
from fairlead.codec.types.times import parse_time

Object = dict[str, Any]
GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", re.ASCII)
GROUP_PREFIX = "system:bootstrappers:"
USAGES = ("signing", "authentication")
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_ID = re.compile(r"[a-z0-9]{6}", re.ASCII)
_LETTERS = string.ascii_lowercase + string.digits
_PREFIX = "bootstrap-token-"
_TYPE = "bootstrap.@/token"
_USAGE = "usage-bootstrap-"


class Token(NamedTuple):
    id: str
    secret: str

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"


def new_token() -> Token:
    return Token(_random(6), _random(16))


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def read_token(text: str) -> Token:
    """Parse a token; raises CommandError. The message does not contain the text, which may be
    secret."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise CommandError(f'the bootstrap token is not of the form "{_TOKEN.pattern}"')
    return Token(match[1], match[2])


def id_of(text: str) -> str:
    """The token id, from an id or a whole token; raises CommandError."""
    return text if _ID.fullmatch(text) else read_token(text).id


def secret_name(id: str) -> str:
    return _PREFIX + id


def secret_of(
    token: Token,
    dialect: Dialect,
    *,
    description: str,
    ttl: float,
    usages: list[str],
    groups: list[str],
) -> Object:
    """The Secret of a token; it does not expire if `ttl` is 0."""
    data = {"token-id": token.id, "token-secret": token.secret}
    data |= {f"{_USAGE}{usage}": "true" for usage in usages}
    if description:
        data["description"] = description
    if groups:
        data["auth-extra-groups"] = ",".join(groups)
    if ttl:
        ends = datetime.now(UTC) + timedelta(seconds=ttl)
        data["expiration"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": dialect.label(_TYPE),
        "metadata": {"name": secret_name(token.id), "namespace": dialect.system_namespace},
        "stringData": data,
    }


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """A token, read from its Secret."""

    token: str
    expires: datetime | None
    usages: list[str]
    description: str
    groups: str

    def ttl(self, now: datetime) -> str:
        if self.expires is None:
            return "<forever>"
        left = int((self.expires - now).total_seconds())
        return "<invalid>" if left < 0 else _short(left)


def read_secret(secret: Mapping[str, Any], dialect: Dialect) -> BootstrapToken | None:
    """Parse a Secret; None if it is not a valid bootstrap token."""
    name = secret["metadata"]["name"]
    if secret.get("type") != dialect.label(_TYPE):
        return None
    encoded = secret.get("data") or {}
    try:
        data = {key: b64decode(value).decode(errors="replace") for key, value in encoded.items()}
    except ValueError:
        return None
    id, private = data.get("token-id", ""), data.get("token-secret", "")
    if name != secret_name(id) or not _TOKEN.fullmatch(f"{id}.{private}"):
        return None
    usages = [usage for usage in USAGES if data.get(f"{_USAGE}{usage}") == "true"]
    return BootstrapToken(
        f"{id}.{private}",
        _moment(data.get("expiration", "")),
        sorted(usages),
        data.get("description", ""),
        data.get("auth-extra-groups", ""),
    )


def _moment(text: str) -> datetime | None:
    try:
        return parse_time(text) if text else None
    except ValueError:
        return datetime.fromtimestamp(0, UTC)  # an invalid time counts as expired, as on the server


_UNITS = ((365 * 86400, "y"), (86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def _short(seconds: int) -> str:
    """Format in the largest unit that fits."""
    for size, letter in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{letter}"
    return "0s"


async def secrets_of(invocation: Invocation) -> tuple[Resource, Dialect]:
    """The Secret resource, and the dialect of the server."""
    type = await invocation.client.discovery.of_kind("v1", "Secret")
    return invocation.client.of(type), await invocation.client.discovery.dialect()
