"""Follows the stored policies and bindings; sees each commit before its client gets the
response, so that the rules of a policy hold for the next write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from fairlead.admission.plugin import Attributes
from fairlead.admission.policies.matching import Constraints, Match, is_exempt, parse_constraints
from fairlead.admission.webhooks.match import equivalents, matchable_names
from fairlead.auth.authentication.user import is_server
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.version import Change

logger = logging.getLogger("fairlead")


class Binding(NamedTuple):
    """A stored binding. Without constraints it matches whatever its policy matches."""

    name: str
    spec: Object
    constraints: Constraints | None


class Policy:
    """One version of a stored policy. `compiled` holds its compiled expressions from their first
    use on."""

    __slots__ = ("compiled", "constraints", "name", "spec")

    def __init__(self, name: str, spec: Object) -> None:
        self.name = name
        self.spec = spec
        self.constraints = parse_constraints(spec["matchConstraints"])
        self.compiled: Any = None

    @property
    def ignores_failure(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"


class BoundMatch(NamedTuple):
    """A binding that may match an operation on a resource."""

    binding: Binding
    match: Match | None


class PolicyMatch(NamedTuple):
    """A policy that may match an operation on a resource, and its bindings."""

    policy: Policy
    match: Match
    bindings: Sequence[BoundMatch]


class Policies:
    """The policies of one type, in the order of their names. As a container it has the internal
    names of the resources that they may match. `on_change` is called after a policy or a binding
    changes. `is_serving` returns whether startup is complete: policies are not evaluated for the
    server's own writes during startup, so that no policy can keep a server from starting."""

    def __init__(
        self,
        resources: Resources,
        on_change: Callable[[], None],
        is_serving: Callable[[], bool],
    ) -> None:
        self._resources = resources
        self._on_change = on_change
        self._is_serving = is_serving
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Binding] = {}
        self._bound: list[tuple[Policy, list[Binding]]] | None = None
        self._matches: dict[tuple[str, str], Sequence[PolicyMatch]] = {}
        self._generation = -1  # the resource generation that `_matches` was computed for

    def policy_changed(self, change: Change) -> None:
        """Process a commit. A policy that cannot be used does not affect the others."""
        self._policies.pop(change.key, None)
        try:
            if change.after is not None:
                spec = change.after.object()["spec"]
                self._policies[change.key] = Policy(change.key, spec)
        except Exception:
            logger.exception("the policy %s cannot be used", change.key)
        self._forget()

    def binding_changed(self, change: Change) -> None:
        self._bindings.pop(change.key, None)
        try:
            if change.after is not None:
                self._bindings[change.key] = _binding(change.key, change.after.object()["spec"])
        except Exception:
            logger.exception("the policy binding %s cannot be used", change.key)
        self._forget()

    def _forget(self) -> None:
        self._bound = None
        self._matches.clear()
        self._on_change()

    def _bound_policies(self) -> list[tuple[Policy, list[Binding]]]:
        """The policies that have bindings. A binding without a policy has no effect."""
        if self._bound is None:
            by_policy: dict[str, list[Binding]] = {}
            for name in sorted(self._bindings):
                binding = self._bindings[name]
                by_policy.setdefault(binding.spec["policyName"], []).append(binding)
            self._bound = [
                (self._policies[name], by_policy[name])
                for name in sorted(by_policy)
                if name in self._policies
            ]
        return self._bound

    def __contains__(self, key: object) -> bool:
        if not self._policies or not self._bindings or not isinstance(key, str):
            return False
        names = matchable_names(self._resources, key, is_exempt)
        if not names:
            return False
        return any(policy.constraints.may_match(names) for policy, _ in self._bound_policies())

    def matches(self, attributes: Attributes) -> Sequence[PolicyMatch]:
        """The policies whose rules may match a write; empty if none is to be evaluated for it."""
        if attributes.is_settled or (is_server(attributes.user) and not self._is_serving()):
            return ()
        if self._generation != self._resources.generation:
            self._generation = self._resources.generation
            self._matches.clear()
        resource, operation = attributes.resource, attributes.operation
        key = resource.key, operation
        matches = self._matches.get(key)
        if matches is None:
            matches = self._matches[key] = tuple(self._possible_matches(resource, operation))
        return matches

    def _possible_matches(self, resource: Resource, operation: str) -> Iterator[PolicyMatch]:
        if is_exempt(resource):
            return
        others = equivalents(self._resources, resource)
        for policy, bindings in self._bound_policies():
            match = Match(policy.constraints, resource, others, operation)
            if not match.is_possible:
                continue
            bound = []
            for binding in bindings:
                own = None
                if binding.constraints is not None:
                    own = Match(binding.constraints, resource, others, operation)
                if own is None or own.is_possible:
                    bound.append(BoundMatch(binding, own))
            if bound:
                yield PolicyMatch(policy, match, bound)


def _binding(name: str, spec: Object) -> Binding:
    match = spec.get("matchResources")
    return Binding(name, spec, None if match is None else parse_constraints(match))
