"""Names in other objects: after objects were renamed, what refers to them is changed."""

from __future__ import annotations

from typing import Any

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.fields import Rule, change
from fairlead.cli.kustomize.identity import Identity, Kind, neutral_group
from fairlead.cli.kustomize.resources import Built, BuiltSet, Object, as_text
from fairlead.cli.kustomize.rules import Rules


def update(items: BuiltSet, rules: Rules) -> None:
    """Raises KustomizeError if a name may mean several objects."""
    for item in items:
        reachable = _reachable(items, item)
        for kind, fields in rules.references.items():
            for rule in fields:
                if rule.kind.selects(item.original.kind):
                    reference = _Reference(item, kind, rule, reachable)
                    own = item.kind
                    change(item.value, Rule(own, rule.path), reference.changed)


def _reachable(items: BuiltSet, referrer: Built) -> list[Built]:
    """The objects that this one can refer to."""
    own = referrer.identity
    if own.kind.is_cluster_scoped():
        return list(items)
    spaces = _account_namespaces(referrer.value)
    return [
        item
        for item in items
        if item.kind.is_cluster_scoped()
        or item.identity.space == own.space
        or item.namespace in spaces
    ]


def _account_namespaces(value: Object) -> set[str]:
    """The namespaces of the service accounts of a RoleBinding."""
    if value.get("kind") != "RoleBinding" or not isinstance(value.get("subjects"), list):
        return set()
    spaces = set()
    for subject in value["subjects"]:
        if isinstance(subject, dict) and subject.get("kind") == "ServiceAccount":
            if "namespace" in subject and not isinstance(subject["namespace"], str):
                raise KustomizeError(
                    f"RoleBinding {Built(value).name}: the namespace of a subject is no text"
                )
            spaces.add(subject.get("namespace", ""))
    return spaces - {""}


class _Reference:
    """A field of an object with the name of an object of some kind."""

    def __init__(self, referrer: Built, target: Kind, rule: Rule, reachable: list[Built]) -> None:
        self._referrer = referrer
        self._target = target
        self._rule = rule
        self._reachable = reachable

    def changed(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return [
                self._named(item) if isinstance(item, dict) else self._name(item) for item in value
            ]
        return self._named(value) if isinstance(value, dict) else self._name(value)

    def _name(self, value: Any) -> Any:
        found = self._find(as_text(value), self._reachable, with_namespace=False)
        return value if found is None else found.name

    def _named(self, value: Object) -> Object:
        """An object with a name, and maybe a namespace."""
        if "name" not in value:
            raise KustomizeError(f"{self._referrer.identity}: {self._rule.path} has no name")
        candidates = self._reachable
        if "namespace" in value:
            namespace = as_text(value["namespace"])
            candidates = _in_namespace(candidates, namespace)
        name = as_text(value["name"])
        found = self._find(name, candidates, with_namespace=True)
        if found is not None and (found.name != name or found.namespace):
            value["name"] = found.name
            if found.namespace:
                value["namespace"] = found.namespace
        return value

    def _find(self, name: str, candidates: list[Built], with_namespace: bool) -> Built | None:
        found = [
            item
            for item in candidates
            if any(identity.name == name for identity in item.earlier())
            and _was(item, self._target)
            and self._fits_role(item)
            and self._is_near(item)
        ]
        if len(found) == 1:
            return found[0]
        for is_exact in (False, True):
            if not is_exact or len(found) > 1:
                found = [item for item in found if _same_affixes(item, self._referrer, is_exact)]
        if not found:
            return None
        names = {(item.name, item.namespace if with_namespace else "") for item in found}
        if len(names) > 1:
            several = ", ".join(str(item.identity) for item in found)
            raise KustomizeError(
                f"{self._referrer.identity}: {name} in {self._rule.path} may be one of {several}"
            )
        return found[0]

    def _fits_role(self, item: Built) -> bool:
        if not self._rule.path.endswith("roleRef/name"):
            return True
        role = self._referrer.value.get("roleRef")
        if not isinstance(role, dict) or not role.get("apiGroup") or not role.get("kind"):
            return True
        return _was(item, Kind(neutral_group(str(role["apiGroup"])), "", str(role["kind"])))

    def _is_near(self, item: Built) -> bool:
        own = self._referrer.identity
        return (
            own.kind.is_cluster_scoped()
            or item.kind.is_cluster_scoped()
            or item.kind.kind == "ServiceAccount"
            or item.identity.space == own.space
        )


def _was(item: Built, kind: Kind) -> bool:
    return any(kind.selects(identity.kind) for identity in item.earlier())


def _in_namespace(candidates: list[Built], namespace: str) -> list[Built]:
    """The candidates that were in the namespace first, or else are in it now."""

    def fits(identity: Identity) -> bool:
        return identity.space == namespace and not identity.kind.is_cluster_scoped()

    return [item for item in candidates if fits(item.original)] or [
        item for item in candidates if fits(item.identity)
    ]


def _same_affixes(item: Built, other: Built, is_exact: bool) -> bool:
    return all(
        (not is_exact and (not own or not its)) or _same_end(own, its)
        for own, its in ((item.prefixes, other.prefixes), (item.suffixes, other.suffixes))
    )


def _same_end(first: list[str], other: list[str]) -> bool:
    if not first or not other:
        return first == other
    length = min(len(first), len(other))
    return first[-length:] == other[-length:]
