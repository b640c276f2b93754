"""Layouts of config maps, secrets and service accounts."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import draw_head
from fairlead.cli.describe.parts.values import NONE
from fairlead.cli.describe.queries import SECRETS, Queries, QueryResult

_TOKEN_TYPE = "@/service-account-token"
_ACCOUNT_NAME = "@/service-account.name"
_ACCOUNT_UID = "@/service-account.uid"


def _draw_config_map(page: Page, config_map: Subject) -> None:
    draw_head(page, config_map)
    page.write("\nData\n====")
    for key, value in config_map.map("data").items():
        page.write(f"{key}:\n----\n{value}")
    page.write("\nBinaryData\n====")
    for key, value in config_map.map("binaryData").items():
        page.write(f"{key}: {_size(value)} bytes")
    page.write()


def _size(encoded: str) -> int:
    try:
        return len(b64decode(encoded))
    except (Base64Error, ValueError):
        return len(encoded)


def _draw_secret(page: Page, secret: Subject) -> None:
    """Show only sizes, not the secret values."""
    draw_head(page, secret)
    page.write(f"\nType:\t{secret.text('type')}\n\nData\n====")
    for key, value in secret.map("data").items():
        page.pair(key, f"{_size(value)} bytes")


async def _secrets(account: Subject, queries: Queries) -> QueryResult:
    return await queries.list(SECRETS, account.namespace)


def _draw_account(page: Page, account: Subject) -> None:
    draw_head(page, account)
    result = account.found("secrets")
    existing = {secret.text("metadata.name") for secret in result.items}
    named = {
        "Image pull secrets:": _names(account.items("imagePullSecrets")),
        "Mountable secrets: ": _names(account.items("secrets")),
        "Tokens:            ": [
            secret.text("metadata.name") for secret in result.items if _is_token(secret, account)
        ],
    }
    for title, names in named.items():
        first = title
        for name in names or [NONE]:
            is_missing = names and result.error is None and name not in existing
            page.row(first, f"{name} (not found)" if is_missing else name, level=0)
            first = " " * len(title)


def _names(references: list[Fields]) -> list[str]:
    return [reference.text("name") for reference in references]


def _is_token(secret: Fields, account: Subject) -> bool:
    label = account.dialect.label
    notes = secret.map("metadata.annotations")
    return (
        secret.text("type") == label(_TOKEN_TYPE)
        and notes.get(label(_ACCOUNT_NAME)) == account.name
        and notes.get(label(_ACCOUNT_UID)) == account.uid
    )


CONFIG_MAP = Layout(_draw_config_map)
SECRET = Layout(_draw_secret, events=None)
SERVICE_ACCOUNT = Layout(_draw_account, {"secrets": _secrets})
