"""Groups in the API's own domain need an approval annotation."""

from __future__ import annotations

from urllib.parse import urlsplit

from fairlead.base.dialect import Dialect
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes

_POLICY_LINK = "see https://github.com/kubernetes/enhancements/pull/1111"


def check_approval(value: Object, old: Object | None, dialect: Dialect, causes: Causes) -> None:
    """A new or changed definition needs a valid annotation; an existing invalid state may stay."""
    if not _is_protected(value["spec"]["group"], dialect):
        return
    key = dialect.label("api-approved.@")
    annotation, state = _annotation(value, key), _state(_annotation(value, key))
    if old is not None and state == _state(_annotation(old, key)):
        return
    path = f"metadata.annotations[{key}]"
    if state == "missing":
        causes.required(path, _missing(key))
    elif state == "invalid":
        causes.invalid(path, annotation, _unclear(key))


def approval(value: Object, dialect: Dialect) -> tuple[bool, str, str] | None:
    """Whether the definition of a protected group is approved, with reason and message; None for
    unprotected groups."""
    if not _is_protected(value["spec"]["group"], dialect):
        return None
    key = dialect.label("api-approved.@")
    annotation = _annotation(value, key)
    match _state(annotation):
        case "missing":
            return False, "MissingAnnotation", _missing(key)
        case "invalid":
            return False, "InvalidAnnotation", _unclear(key)
        case "bypassed":
            return False, "UnapprovedAnnotation", f'not approved: "{annotation}"'
    return True, "ApprovedAnnotation", f"approved in {annotation}"


def _missing(key: str) -> str:
    return f'protected groups must have approval annotation "{key}", {_POLICY_LINK}'


def _unclear(key: str) -> str:
    return (
        f'protected groups must have approval annotation "{key}" with either a URL or a reason'
        f' starting with "unapproved", {_POLICY_LINK}'
    )


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
