"""The scopes of quotas, and matching pods and claims to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.admission.plugins.base import PODS, Object
from fairlead.resources.core.pods import PREFERRED, REQUIRED
from fairlead.resources.core.pods.resources import BEST_EFFORT, qos_class

CLAIMS = "core/v1/persistentvolumeclaims"
_AFFINITIES = ("podAffinity", "podAntiAffinity")


class Selector(NamedTuple):
    """One scope requirement of a quota or of the configuration."""

    scope: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{{{self.scope} {self.operator} [{' '.join(self.values)}]}}"


class PodScopes(NamedTuple):
    """The properties of a pod that selectors match."""

    terminating: bool
    best_effort: bool
    priority_class: str
    across_namespaces: bool

    def match(self, selector: Selector) -> bool:
        match selector.scope:
            case "Terminating":
                return self.terminating
            case "NotTerminating":
                return not self.terminating
            case "BestEffort":
                return self.best_effort
            case "NotBestEffort":
                return not self.best_effort
            case "PriorityClass":
                return self._has_class(selector)
            case "CrossNamespacePodAffinity":
                return self.across_namespaces
        return False

    def _has_class(self, selector: Selector) -> bool:
        match selector.operator:
            case "In":
                return self.priority_class in selector.values
            case "NotIn":
                return self.priority_class not in selector.values
            case "DoesNotExist":
                return not self.priority_class
        return bool(self.priority_class)


class ClaimScopes(NamedTuple):
    """The VolumeAttributesClasses of a claim."""

    classes: frozenset[str]

    def match(self, selector: Selector) -> bool:
        if selector.scope != "VolumeAttributesClass":
            return False
        match selector.operator:
            case "In":
                return any(name in selector.values for name in self.classes)
            case "NotIn":
                return not self.classes or any(name not in selector.values for name in self.classes)
            case "DoesNotExist":
                return not self.classes
        return bool(self.classes)


Scopes = PodScopes | ClaimScopes


def scopes_of(resource: str, value: Object) -> Scopes | None:
    """The scopes of an object of a resource; None if the resource has none."""
    if resource == PODS:
        return pod_scopes(value)
    return claim_scopes(value) if resource == CLAIMS else None


def claim_scopes(claim: Object) -> ClaimScopes:
    status = claim.get("status") or {}
    names = (
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return ClaimScopes(frozenset(name for name in names if name))


def pod_is_terminating(pod: Object) -> bool:
    """Whether a pod is in the scope Terminating: it may run for a limited time."""
    deadline = pod["spec"].get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def pod_scopes(pod: Object) -> PodScopes:
    spec = pod["spec"]
    return PodScopes(
        pod_is_terminating(pod),
        qos_class(spec) == BEST_EFFORT,
        spec.get("priorityClassName", ""),
        any(
            term.get("namespaces") or term.get("namespaceSelector") is not None
            for term in _terms(spec.get("affinity") or {})
        ),
    )


def _terms(affinity: Object) -> Iterator[Object]:
    for name in _AFFINITIES:
        term = affinity.get(name) or {}
        yield from term.get(REQUIRED) or ()
        for weighted in term.get(PREFERRED) or ():
            yield weighted["podAffinityTerm"]


def selectors_of(spec: Object) -> tuple[Selector, ...]:
    """The requirements of a quota, from both `scopes` and `scopeSelector`."""
    scopes = [Selector(scope) for scope in spec.get("scopes") or ()]
    expressions = (spec.get("scopeSelector") or {}).get("matchExpressions")
    return (*scopes, *selectors(expressions or ()))


def selectors(expressions: Iterable[Object]) -> Iterator[Selector]:
    for expression in expressions:
        yield Selector(
            expression["scopeName"], expression["operator"], tuple(expression.get("values") or ())
        )
