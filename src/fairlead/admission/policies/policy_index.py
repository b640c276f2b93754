"""Follows the stored policies and bindings; sees each commit before its client gets the
response, so that the rules of a policy hold for the next write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.policies import matching
from fairlead.admission.webhooks.hooks import ANY
from fairlead.admission.webhooks.match import equivalents, matchable_names, names_in_rules
from fairlead.auth.authentication.user import is_server
from fairlead.base.logs import Logger
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource, Resources
from fairlead.storage.version import Change

logger = Logger("fairlead")

_MAX_MATCHES = 1000  # that are kept of one policy or binding


# Reviews of users and their rights: a policy that refused them would break the server.
_REVIEWS = frozenset({"authentication", "authorization"})
POLICY_RESOURCES = frozenset(
    f"admissionregistration/v1/{name}"
    for name in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)


def is_exempt(resource: Resource) -> bool:
    """Whether no policy is evaluated for a resource: policies must not block their own removal,
    and reviews of access must work."""
    main = resource.main
    if main.custom is not None:
        return False
    return main.key in POLICY_RESOURCES or main.group_version.short in _REVIEWS


class _Followed:
    """One version of a stored policy or binding, with its matches by resource and operation."""

    __slots__ = ("constraints", "generation", "matches", "name", "spec")

    def __init__(self, name: str, spec: Object, constraints: matching.Constraints | None) -> None:
        self.name = name
        self.spec = spec
        self.constraints = constraints
        self.matches: dict[tuple[str, str], matching.Match] = {}
        self.generation = -1  # the resource generation of `matches`


class Binding(_Followed):
    """Without constraints it matches whatever its policy matches."""

    __slots__ = ()

    def __init__(self, name: str, spec: Object) -> None:
        match = spec.get("matchResources")
        super().__init__(name, spec, None if match is None else matching.parse_constraints(match))


class Policy(_Followed):
    """`compiled` holds its compiled expressions from their first use on."""

    __slots__ = ("compiled", "index_keys")

    def __init__(self, name: str, spec: Object) -> None:
        constraints = matching.parse_constraints(spec["matchConstraints"])
        super().__init__(name, spec, constraints)
        self.index_keys = constraints.index_keys()
        self.compiled: Any = None

    @property
    def ignores_failure(self) -> bool:
        return self.spec.get("failurePolicy") == "Ignore"


class Policies:
    """The policies of one type. As a container it has the internal names of the resources that
    they may match. `on_change` is called after a policy or a binding changes. `is_serving` returns
    whether startup is complete: policies are not evaluated for the server's own writes during
    startup, so that no policy can keep a server from starting."""

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
        self._index: dict[tuple[str, str], dict[str, Policy]] = {}  # by their index keys
        self._bindings: dict[str, Binding] = {}
        self._bound: dict[str, dict[str, Binding]] = {}  # by policy, then by name
        self._sorted: dict[str, Sequence[Binding]] = {}
        self._candidates: dict[str, Sequence[Policy]] = {}
        self._equivalents: dict[str, list[Resource]] = {}
        self._generation = -1  # the resource generation of candidates and equivalents

    def policy_changed(self, change: Change) -> None:
        """Process a commit. A policy that cannot be used does not affect the others."""
        name = change.key
        old, new = self._policies.get(name), None
        try:
            if change.after is not None:
                spec = change.after.object()["spec"]
                if old is not None and old.spec == spec:
                    return  # its status or metadata changed
                new = Policy(name, spec)
        except Exception:
            logger.exception("a policy cannot be used", policy=name)
        if old is not None:
            del self._policies[name]
            self._remove_from_index(old)
        if new is not None:
            self._policies[name] = new
            for key in new.index_keys:
                self._index.setdefault(key, {})[name] = new
        self._forget()

    def _remove_from_index(self, policy: Policy) -> None:
        for key in policy.index_keys:
            del self._index[key][policy.name]
            if not self._index[key]:
                del self._index[key]

    def binding_changed(self, change: Change) -> None:
        name = change.key
        old = self._bindings.pop(name, None)
        if old is not None:
            self._of_same_policy(old).pop(name)
        try:
            if change.after is not None:
                binding = self._bindings[name] = Binding(name, change.after.object()["spec"])
                self._of_same_policy(binding)[name] = binding
        except Exception:
            logger.exception("a policy binding cannot be used", binding=name)
        self._forget()

    def _of_same_policy(self, binding: Binding) -> dict[str, Binding]:
        policy = binding.spec["policyName"]
        self._sorted.pop(policy, None)
        return self._bound.setdefault(policy, {})

    def _forget(self) -> None:
        self._candidates.clear()
        self._on_change()

    def __contains__(self, key: object) -> bool:
        if not self._policies or not self._bindings or not isinstance(key, str):
            return False
        names = matchable_names(self._resources, key, is_exempt)
        return any(self._bound.get(policy.name) for policy in self._indexed(names))

    def _indexed(self, names: Collection[tuple[str, str]]) -> Iterator[Policy]:
        """The policies whose rules name one of these groups or resource names, some of them more
        than once."""
        keys = {key for group, name in names for key in ((ANY, name), (group, ANY), (ANY, ANY))}
        for key in keys:
            yield from self._index.get(key, {}).values()

    def candidates(self, attributes: Attributes) -> Sequence[Policy]:
        """The bound policies whose rules name the resource of a write, in the order of their
        names; empty if none is to be evaluated for it."""
        if attributes.is_settled or (is_server(attributes.user) and not self._is_serving()):
            return ()
        self._check_generation()
        key = attributes.resource.main.key
        candidates = self._candidates.get(key)
        if candidates is None:
            names = names_in_rules(self._resources, attributes.resource.main, is_exempt)
            found = {policy.name: policy for policy in self._indexed(names)}
            candidates = tuple(found[name] for name in sorted(found) if self._bound.get(name))
            self._candidates[key] = candidates
        return candidates

    def bindings(self, policy: Policy) -> Sequence[Binding]:
        """The bindings of a policy, in the order of their names."""
        bindings = self._sorted.get(policy.name)
        if bindings is None:
            bound = self._bound.get(policy.name, {})
            bindings = self._sorted[policy.name] = tuple(bound[name] for name in sorted(bound))
        return bindings

    def resource_for(
        self, followed: Policy | Binding, attributes: Attributes, find: FindNamespace
    ) -> Resource | None:
        """The resource in whose version a policy or a binding matches a write, None if it does
        not. Raises NotFound if the namespace of the write is missing."""
        if followed.constraints is None:
            return attributes.resource
        resource, operation = attributes.resource, attributes.operation
        self._check_generation()
        if followed.generation != self._generation or len(followed.matches) >= _MAX_MATCHES:
            followed.generation = self._generation
            followed.matches.clear()
        match = followed.matches.get((resource.key, operation))
        if match is None:
            others = self._equivalents.get(resource.key)
            if others is None:
                others = self._equivalents[resource.key] = equivalents(self._resources, resource)
            match = matching.Match(followed.constraints, resource, others, operation)
            followed.matches[resource.key, operation] = match
        return match.resource_for(attributes, find)

    def _check_generation(self) -> None:
        if self._generation != self._resources.generation:
            self._generation = self._resources.generation
            self._candidates.clear()
            self._equivalents.clear()
