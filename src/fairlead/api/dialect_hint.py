"""Adds a hint to errors if a request uses names of the other dialect."""

from __future__ import annotations

from fairlead.base.dialect import DIALECTS, Dialect
from fairlead.base.errors import StatusError


def hint(dialect: Dialect, text: str) -> str:
    """A hint to append to an error about `text`, an API group or media types; empty if `text` does
    not belong to the other dialect."""
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
    """The error, with a hint in its message if the request uses the other dialect."""
    added = hint(dialect, text)
    if added:
        error.message = f"{error.message}; {added}"
    return error


def unknown_group(dialect: Dialect, group: str) -> StatusError | None:
    """The 404 error for a group of the other dialect; None for any other group."""
    added = hint(dialect, group)
    if not added:
        return None
    return StatusError(404, "NotFound", f'there is no API group "{group}"; {added}', details={})
