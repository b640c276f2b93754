"""The words in which a request is refused."""

from __future__ import annotations

from fairlead.authorization.attributes import Attributes
from fairlead.authorization.decision import Decision
from fairlead.errors import ResourceRef, StatusError, forbidden
from fairlead.kinds.causes import quote

_HARMLESS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden_message(attributes: Attributes, reason: str = "") -> str:
    """Who cannot do what where, and the reason if a mode gave one."""
    text = _cannot(attributes).translate(_HARMLESS)
    return f"{text}: {reason}" if reason else text


def _cannot(attributes: Attributes) -> str:
    who = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{who} path {quote(attributes.path)}"
    what = f"resource {quote(attributes.full_resource)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        return f"{who} {what} in the namespace {quote(attributes.namespace)}"
    return f"{who} {what} at the cluster scope"


def refusal(attributes: Attributes, decision: Decision) -> StatusError:
    """The 403 for a decision that does not allow."""
    ref = ResourceRef(attributes.group, attributes.resource, attributes.name)
    return forbidden(ref, forbidden_message(attributes, decision.reason))


def creation_refusal(attributes: Attributes, decision: Decision) -> StatusError:
    """The 403 for a PUT or apply that would create, by a user who may not create. It carries the
    modes' reason alone."""
    ref = ResourceRef(attributes.group, attributes.resource, attributes.name)
    return forbidden(ref, decision.reason)
