"""What an authorizer is asked: may this user do this?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.base.errors import ResourceRef, StatusError, forbidden
from fairlead.base.records import dataclass, field
from fairlead.resources.causes import quote


class Attributes(NamedTuple):
    """One question. A tuple, because one is made for every request.

    `name` is the object's where the request names one; a list or watch with the field selector
    `metadata.name=x` names one too. `namespace` is empty for cluster-scoped requests; a request
    for a Namespace is in that namespace. Requests that are not for a resource have a `path`.
    """

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    is_resource: bool = True

    @property
    def full_resource(self) -> str:
        """The resource as roles write it, `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def of_path(user: User, verb: str, path: str) -> Attributes:
    """A question about a path beside the API."""
    return Attributes(user, verb, path=path, is_resource=False)


# What an authorizer answers, and what a user may do at all.


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of one mode or of all of them. Neither allowed nor denied means no opinion: the
    next mode is asked, and in the end nobody allowed it.

    `lasting` says that the answer holds until the roles and bindings change, for every user of
    the same name and groups, so that it may be kept.
    """

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    errors: tuple[str, ...] = ()
    lasting: bool = True

    @property
    def final(self) -> bool:
        """Whether no further mode is asked."""
        return self.allowed or self.denied

    @property
    def error(self) -> str:
        """What went wrong on the way, as one text."""
        return joined_errors(self.errors)


ALLOWED = Decision(allowed=True)
NO_OPINION = Decision()


def joined_errors(errors: Sequence[str]) -> str:
    """Errors as one text, each once."""
    distinct = list(dict.fromkeys(errors))
    if len(distinct) > 1:
        return f"[{', '.join(distinct)}]"
    return distinct[0] if distinct else ""


@dataclass(slots=True)
class UserRules:
    """What a user may do in a namespace, as far as modes can tell it in rules."""

    resource_rules: list[dict[str, Any]] = field(default_factory=list)
    path_rules: list[dict[str, Any]] = field(default_factory=list)
    incomplete: bool = False
    errors: list[str] = field(default_factory=list)

    def add(self, other: UserRules) -> None:
        self.resource_rules += other.resource_rules
        self.path_rules += other.path_rules
        self.incomplete = self.incomplete or other.incomplete
        self.errors += other.errors

    @property
    def error(self) -> str:
        return joined_errors(self.errors)


# The words in which a request is refused.

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
