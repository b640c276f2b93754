"""The labels that a node agent may set on its own node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.base.dialect import Dialect

_OWN_LABELS = (
    "@/hostname",
    "@/os",
    "@/arch",
    "beta.@/os",
    "beta.@/arch",
    "beta.@/instance-type",
    "topology.@/zone",
    "topology.@/region",
    "failure-domain.beta.@/zone",
    "failure-domain.beta.@/region",
)
_OWN_DOMAINS = ("kubelet.@", "node.@")
_RESTRICTED_DOMAIN = "node-restriction.@"


class NodeLabels:
    def __init__(self, dialect: Dialect) -> None:
        self._system_domains = (dialect.label_domain, dialect.group_domain)
        self._own_labels = frozenset(dialect.label(name) for name in _OWN_LABELS)
        self._own_domains = tuple(dialect.label(name) for name in _OWN_DOMAINS)
        self._restricted = (dialect.label(_RESTRICTED_DOMAIN),)

    def forbidden(self, names: Iterable[str]) -> list[str]:
        """Those of the labels that are not the node agent's to change, sorted."""
        return sorted(name for name in names if self._is_forbidden(name))

    def _is_forbidden(self, name: str) -> bool:
        domain = name.partition("/")[0] if "/" in name else ""
        if _within(domain, self._restricted):
            return True
        if not _within(domain, self._system_domains):
            return False
        return name not in self._own_labels and not _within(domain, self._own_domains)


def _within(domain: str, parents: Iterable[str]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def changed_labels(labels: Mapping[str, str] | None, old: Mapping[str, str] | None) -> set[str]:
    """The labels that were added, removed or given another value."""
    after, before = labels or {}, old or {}
    return {name for name in {*after, *before} if after.get(name) != before.get(name)}
