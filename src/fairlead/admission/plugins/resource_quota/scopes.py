"""The scopes of quotas, and matching pods to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.admission.plugins.base import Object
from fairlead.resources.core.pods import PREFERRED, REQUIRED
from fairlead.resources.core.pods.resources import BEST_EFFORT, qos_class

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


def scopes_of(pod: Object) -> PodScopes:
    spec = pod["spec"]
    deadline = spec.get("activeDeadlineSeconds")
    return PodScopes(
        deadline is not None and deadline >= 0,
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
