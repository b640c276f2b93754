"""The words in which a request is refused."""

from __future__ import annotations

from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.decision import Decision
from fairlead.base.errors import ResourceRef, StatusError, forbidden
from fairlead.resources.causes import quote

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


class Refused(StatusError):
    """A 403 of the authorizer: `attributes` is what it was asked, `decision` what it said."""

    def __init__(self, attributes: Attributes, decision: Decision, why: str) -> None:
        ref = ResourceRef(attributes.group, attributes.resource, attributes.name)
        told = forbidden(ref, why)
        super().__init__(told.code, told.reason, told.message, details=told.details)
        self.attributes = attributes
        self.decision = decision


def refusal(attributes: Attributes, decision: Decision) -> Refused:
    """The 403 for a decision that does not allow."""
    return Refused(attributes, decision, forbidden_message(attributes, decision.reason))


def creation_refusal(attributes: Attributes, decision: Decision) -> Refused:
    """The 403 for a PUT or apply that would create, by a user who may not create. It carries the
    modes' reason alone."""
    return Refused(attributes, decision, decision.reason)
