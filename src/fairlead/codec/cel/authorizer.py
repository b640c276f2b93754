"""The `authorizer` variable: asks whether a user may do something.

    authorizer.group("apps").resource("deployments").namespace("web").check("create").allowed()

Values carry the question as far as it is written. `check` passes it to the function that the
evaluation supplies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from fairlead.codec.cel.costs import LIST, MESSAGE, tenth
from fairlead.codec.cel.errors import EvaluationError
from fairlead.codec.cel.library import Library, declared
from fairlead.codec.cel.types import BOOL, STRING, Scalar
from fairlead.codec.types.names import dns_label, dns_subdomain

AUTHORIZER = Scalar("kubernetes.authorization.Authorizer")
PATH_CHECK = Scalar("kubernetes.authorization.PathCheck")
GROUP_CHECK = Scalar("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = Scalar("kubernetes.authorization.ResourceCheck")
DECISION = Scalar("kubernetes.authorization.Decision")
CHECK_COST = 350_000
_REQUIREMENT_COST = LIST + MESSAGE
_CHARACTERS_PER_REQUIREMENT = 2


class Question(NamedTuple):
    """A question to the authorizer. `account` is a service account as namespace and name; without
    it the question is about the user of the request. Without a resource it is about a path."""

    account: tuple[str, str] | None = None
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    type_name: ClassVar[str] = str(DECISION)

    allowed: bool
    reason: str = ""
    error: str = ""


Decide = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class Check:
    """A question that lacks its verb."""

    type_name: ClassVar[str] = str(PATH_CHECK)

    question: Question
    decide: Decide

    def check(self, verb: str) -> Decision:
        return self.decide(self.question._replace(verb=verb))


@dataclass(frozen=True, slots=True)
class ResourceCheck(Check):
    type_name: ClassVar[str] = str(RESOURCE_CHECK)

    def narrowed(self, part: str, value: str) -> ResourceCheck:
        return replace(self, question=Question(**{**self.question._asdict(), part: value}))


@dataclass(frozen=True, slots=True)
class GroupCheck:
    type_name: ClassVar[str] = str(GROUP_CHECK)

    question: Question
    decide: Decide

    def resource(self, name: str) -> ResourceCheck:
        if not name.strip():
            raise EvaluationError("resource must not be empty")
        return ResourceCheck(self.question._replace(resource=name), self.decide)


@dataclass(frozen=True, slots=True)
class Authorizer:
    type_name: ClassVar[str] = str(AUTHORIZER)

    decide: Decide
    account: tuple[str, str] | None = None

    def path(self, path: str) -> Check:
        if not path.strip():
            raise EvaluationError("path must not be empty")
        return Check(Question(self.account, path=path), self.decide)

    def group(self, group: str) -> GroupCheck:
        return GroupCheck(Question(self.account, group=group), self.decide)

    def service_account(self, namespace: str, name: str) -> Authorizer:
        if dns_subdomain(name):
            raise EvaluationError("Invalid service account name")
        if dns_label(namespace):
            raise EvaluationError("Invalid service account namespace")
        return replace(self, account=(namespace, name))


def _narrowing(part: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    return lambda check, value: check.narrowed(part, value)


def _selector_cost(check: Any, selector: str, result: Any) -> int:
    """The cost of parsing a selector, which may have a requirement in every two characters."""
    size = len(selector)
    requirements = -(-size // _CHARACTERS_PER_REQUIREMENT)
    return LIST + tenth(size) + requirements * _REQUIREMENT_COST


_OF_RESOURCE = (RESOURCE_CHECK, STRING)
LIBRARY = Library(
    declared(
        methods=[
            ("path", (AUTHORIZER, STRING), PATH_CHECK),
            ("group", (AUTHORIZER, STRING), GROUP_CHECK),
            ("serviceAccount", (AUTHORIZER, STRING, STRING), AUTHORIZER),
            ("resource", (GROUP_CHECK, STRING), RESOURCE_CHECK),
            ("subresource", _OF_RESOURCE, RESOURCE_CHECK),
            ("namespace", _OF_RESOURCE, RESOURCE_CHECK),
            ("name", _OF_RESOURCE, RESOURCE_CHECK),
            ("fieldSelector", _OF_RESOURCE, RESOURCE_CHECK),
            ("labelSelector", _OF_RESOURCE, RESOURCE_CHECK),
            ("check", (PATH_CHECK, STRING), DECISION),
            ("check", (RESOURCE_CHECK, STRING), DECISION),
            ("allowed", (DECISION,), BOOL),
            ("reason", (DECISION,), STRING),
            ("error", (DECISION,), STRING),
            ("errored", (DECISION,), BOOL),
        ]
    ),
    {
        "path": {(Authorizer, str): Authorizer.path},
        "group": {(Authorizer, str): Authorizer.group},
        "serviceAccount": {(Authorizer, str, str): Authorizer.service_account},
        "resource": {(GroupCheck, str): GroupCheck.resource},
        "subresource": {(ResourceCheck, str): _narrowing("subresource")},
        "namespace": {(ResourceCheck, str): _narrowing("namespace")},
        "name": {(ResourceCheck, str): _narrowing("name")},
        "fieldSelector": {(ResourceCheck, str): _narrowing("field_selector")},
        "labelSelector": {(ResourceCheck, str): _narrowing("label_selector")},
        "check": {(Check, str): Check.check, (ResourceCheck, str): Check.check},
        "allowed": {(Decision,): lambda decision: decision.allowed},
        "reason": {(Decision,): lambda decision: decision.reason},
        "error": {(Decision,): lambda decision: decision.error},
        "errored": {(Decision,): lambda decision: bool(decision.error)},
    },
    {
        "check": lambda *values: CHECK_COST,
        "fieldSelector": _selector_cost,
        "labelSelector": _selector_cost,
    },
)
