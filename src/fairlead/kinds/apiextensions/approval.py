"""Groups of the API's own domain need a sign that somebody approved of them."""

from __future__ import annotations

from urllib.parse import urlsplit

from fairlead.dialect import Dialect
from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes

_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def check_approval(value: Object, old: Object | None, dialect: Dialect, causes: Causes) -> None:
    """What is not approved may stay so; it may not come about."""
    if not _is_protected(value["spec"]["group"], dialect):
        return
    key = dialect.label("api-approved.@")
    annotation, state = _annotation(value, key), _state(_annotation(value, key))
    if old is not None and state == _state(_annotation(old, key)):
        return
    path = f"metadata.annotations[{key}]"
    if state == "missing":
        detail = f'protected groups must have approval annotation "{key}", {_SEE}'
        causes.required(path, detail)
    elif state == "invalid":
        detail = (
            f'protected groups must have approval annotation "{key}" with either a URL or a'
            f' reason starting with "unapproved", {_SEE}'
        )
        causes.invalid(path, annotation, detail)


def _is_protected(group: str, dialect: Dialect) -> bool:
    domains = (dialect.group_domain, dialect.label_domain)
    return any(group == domain or group.endswith(f".{domain}") for domain in domains)


def _annotation(value: Object, key: str) -> str:
    text: str = (value["metadata"].get("annotations") or {}).get(key, "")
    return text


def _state(annotation: str) -> str:
    if not annotation:
        return "missing"
    if annotation.startswith("unapproved"):
        return "bypassed"
    try:
        parts = urlsplit(annotation)
    except ValueError:
        return "invalid"
    return "approved" if parts.scheme and parts.netloc else "invalid"
