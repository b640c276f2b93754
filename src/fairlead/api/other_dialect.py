"""Requests in the names of the other dialect are told which dialect would serve them."""

from __future__ import annotations

from fairlead.base.dialect import DIALECTS, Dialect
from fairlead.base.errors import StatusError


def hint(dialect: Dialect, text: str) -> str:
    """A sentence to put behind a refusal of `text`, an API group or media types; empty if the
    other dialect has nothing to do with it."""
    for other in DIALECTS.values():
        if other is not dialect and _is_of(other, text):
            return (
                f"this server speaks the dialect {dialect.name};"
                f" start it with --dialect {other.name} to use these names"
            )
    return ""


def _is_of(other: Dialect, text: str) -> bool:
    if text.endswith(f".{other.group_domain}"):
        return True
    return other.protobuf_media_type in text or f"g={other.meta_group}" in text.replace(" ", "")


def with_hint(dialect: Dialect, text: str, error: StatusError) -> StatusError:
    """The error, its message naming the other dialect if that is what the request speaks."""
    found = hint(dialect, text)
    if found:
        error.message = f"{error.message}; {found}"
    return error


def unknown_group(dialect: Dialect, group: str) -> StatusError | None:
    """404 for a group of the other dialect, which this server does not have."""
    found = hint(dialect, group)
    if not found:
        return None
    return StatusError(404, "NotFound", f'there is no API group "{group}"; {found}', details={})
