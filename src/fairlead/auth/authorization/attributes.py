"""The authorizer's input and output: attributes of a request, decisions, and error messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.base.errors import ResourceRef, StatusError, forbidden
from fairlead.resources.causes import quote
from fairlead.storage.selection import Requirement


class Attributes(NamedTuple):
    """One request to authorize. A tuple for speed, because one is created for every request.

    `name` is set if the request names an object; a list or watch with the field selector
    `metadata.name=x` counts too. `namespace` is empty for cluster-scoped requests; a request for a
    Namespace is in that namespace. Non-resource requests have a `path`. `fields` and `labels` are
    the selectors of a list, watch or deletecollection: a decision that depends on them must not be
    `lasting`.
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
    fields: tuple[Requirement, ...] = ()
    labels: tuple[Requirement, ...] = ()

    @property
    def full_resource(self) -> str:
        """The resource as written in roles, such as `pods/log`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


SELECTORS = 10  # the index of the first selector; no lasting decision depends on those


def of_path(user: User, verb: str, path: str) -> Attributes:
    """The attributes of a non-resource request."""
    return Attributes(user, verb, path=path, is_resource=False)


# Decisions of an authorizer, and the rules of a user.


class Decision(NamedTuple):
    """The decision of one mode or of the chain. Neither allowed nor denied means no opinion: the
    next mode decides, and after the last one the request is rejected.

    `lasting`: the decision holds until roles and bindings change, for every user of the same name
    and groups, so it may be cached.
    """

    allowed: bool = False
    denied: bool = False
    reason: str = ""
    errors: tuple[str, ...] = ()
    lasting: bool = True

    @property
    def final(self) -> bool:
        """Whether the chain stops here."""
        return self.allowed or self.denied

    @property
    def error(self) -> str:
        """The evaluation errors as one text."""
        return joined_errors(self.errors)


ALLOWED = Decision(allowed=True)
NO_OPINION = Decision()


def joined_errors(errors: Sequence[str]) -> str:
    """Join distinct errors into one text."""
    distinct = list(dict.fromkeys(errors))
    if len(distinct) > 1:
        return f"[{', '.join(distinct)}]"
    return distinct[0] if distinct else ""


@dataclass(slots=True)
class UserRules:
    """The rules of a user in a namespace, as far as modes can express them."""

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


# The messages of rejected requests.

_HTML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden_message(attributes: Attributes, reason: str = "") -> str:
    """States user, verb, resource and namespace, and the reason if a mode gave one."""
    text = _cannot(attributes).translate(_HTML_ESCAPES)
    return f"{text}: {reason}" if reason else text


def _cannot(attributes: Attributes) -> str:
    subject = f"User {quote(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{subject} path {quote(attributes.path)}"
    target = f"resource {quote(attributes.full_resource)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        return f"{subject} {target} in the namespace {quote(attributes.namespace)}"
    return f"{subject} {target} at the cluster scope"


class Refused(StatusError):
    """A 403 by the authorizer, with the attributes and the decision."""

    def __init__(self, attributes: Attributes, decision: Decision, reason: str) -> None:
        ref = ResourceRef(attributes.group, attributes.resource, attributes.name)
        status_error = forbidden(ref, reason)
        super().__init__(
            status_error.code,
            status_error.reason,
            status_error.message,
            details=status_error.details,
        )
        self.attributes = attributes
        self.decision = decision


def refusal(attributes: Attributes, decision: Decision) -> Refused:
    """The 403 for a decision that does not allow."""
    return Refused(attributes, decision, forbidden_message(attributes, decision.reason))


def creation_refusal(attributes: Attributes, decision: Decision) -> Refused:
    """The 403 for a PUT or apply that would create without create permission. Carries only the
    modes' reason."""
    return Refused(attributes, decision, decision.reason)
