"""The line of text that audit logs had before they had JSON."""

from __future__ import annotations

import json

from fairlead.api.audit.record import Record
from fairlead.auth.authentication.user import User


def legacy_line(record: Record) -> bytes:
    """One event on one line; every value is in quotes, so that none can end it."""
    subject, other = record.subject, record.impersonated
    user, addresses = subject.user, subject.caller.addresses
    values = {
        "id": record.id,
        "stage": record.stage,
        "ip": addresses[0] if addresses else "<unknown>",
        "method": subject.verb,
        "user": user.name if user is not None and user.name else "<none>",
        "groups": _groups(user, "<none>"),
        "as": other.name if other is not None else "<self>",
        "asgroups": _groups(other, "<lookup>"),
        "user-agent": subject.caller.agent,
        "namespace": subject.namespace or "<none>",
        "uri": subject.uri,
        "response": str(record.code) if record.code else "<deferred>",
    }
    shown = " ".join(f"{name}={_quoted(value)}" for name, value in values.items())
    return f"{_moment(record.received)} AUDIT: {shown}\n".encode()


def _groups(user: User | None, none: str) -> str:
    if user is None or not user.groups:
        return none
    return ",".join(map(_quoted, user.groups))


def _quoted(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown.encode("utf-8", "replace").decode()


def _moment(stamp: str) -> str:
    """Without zeros at the end of the fraction."""
    return stamp.rstrip("Z").rstrip("0").rstrip(".") + "Z"
