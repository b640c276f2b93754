"""Matching webhooks to writes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.hooks import ANY, Hook, Rule
from fairlead.base.errors import ResourceRef, not_found
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource, Resources
from fairlead.resources.rules import selector_matches

_NAMESPACES = "core/v1/namespaces"
_CONFIGURATIONS = "admissionregistration"


@dataclass(slots=True)
class Match:
    """A webhook that matches a resource; objects are sent in the version of `resource`. `index`
    is its position among all webhooks of its type. `opening` caches the constant parts of its
    reviews."""

    hook: Hook
    index: int
    resource: Resource
    opening: tuple[bytes, bytes] | None = None


def is_exempt(resource: Resource) -> bool:
    """Whether webhooks are never called for a resource: a webhook must not block its own
    configuration."""
    return resource.custom is None and resource.group_version.short == _CONFIGURATIONS


def equivalents(resources: Resources, resource: Resource) -> list[Resource]:
    """The other served resources through which the same objects are written."""
    main = resource.main
    if main.custom is not None:
        served = resources.groups.get(main.group, {}).values()
        candidates = [
            version.resources[main.name] for version in served if main.name in version.resources
        ]
    else:
        stored = resources.stored_as(main)
        candidates = [
            candidate
            for group_version in resources.group_versions()
            for candidate in group_version.resources.values()
            if candidate.custom is None and resources.stored_as(candidate) == stored
        ]
    if resource.subresource:
        candidates = [
            candidate.subresources[resource.subresource]
            for candidate in candidates
            if _has_sub(candidate, resource)
        ]
    return [candidate for candidate in candidates if candidate is not resource]


def matchable_names(
    resources: Resources, key: str, is_exempt: Callable[[Resource], bool]
) -> set[tuple[str, str]]:
    """The groups and names by which rules may match the resource with an internal name; empty if
    it is exempt or not served."""
    try:
        resource = resources.named(key)
    except KeyError:
        return set()
    return names_in_rules(resources, resource, is_exempt)


def names_in_rules(
    resources: Resources, resource: Resource, is_exempt: Callable[[Resource], bool]
) -> set[tuple[str, str]]:
    """The groups and names by which rules may match a resource; empty if it is exempt."""
    if is_exempt(resource):
        return set()
    candidates = [resource, *equivalents(resources, resource)]
    return {(candidate.group, candidate.name) for candidate in candidates}


def _has_sub(main: Resource, resource: Resource) -> bool:
    return resource.subresource in main.subresources


def matched(
    hook: Hook, resource: Resource, others: Sequence[Resource], operation: str
) -> Resource | None:
    """The resource that a webhook's rules match for a write: the written one, else an equivalent
    one, else None."""
    if any(rule_matches(rule, operation, resource) for rule in hook.rules):
        return resource
    if hook.is_exact:
        return None
    return next(
        (
            candidate
            for rule in hook.rules
            for candidate in others
            if rule_matches(rule, operation, candidate)
        ),
        None,
    )


class MatchRules(Protocol):
    """A webhook, or the constraints of a policy: rules and selectors. A selector is None if it
    selects everything."""

    @property
    def rules(self) -> tuple[Rule, ...]: ...

    @property
    def namespaces(self) -> Object | None: ...

    @property
    def objects(self) -> Object | None: ...


def may_match(hook: MatchRules, names: Collection[tuple[str, str]]) -> bool:
    """Whether a webhook has rules for one of these groups and resource names, regardless of version
    and operation."""
    return any(
        _has(rule.groups, group)
        and any(rule_name in (ANY, name) for rule_name, _ in rule.resources)
        for rule in hook.rules
        for group, name in names
    )


def rule_matches(rule: Rule, operation: str, resource: Resource) -> bool:
    """Whether a rule matches an operation on a resource."""
    main, sub = resource.main, resource.subresource
    return (
        _has(rule.operations, operation)
        and _has(rule.groups, main.group)
        and _has(rule.versions, main.group_version.version)
        and rule.scope in (ANY, "Namespaced" if main.namespaced else "Cluster")
        and any(
            rule_name in (ANY, main.name) and wanted_sub in (ANY, sub)
            for rule_name, wanted_sub in rule.resources
        )
    )


def _has(names: frozenset[str], name: str) -> bool:
    return name in names or ANY in names


def namespace_of(attributes: Attributes) -> str:
    """The namespace of a request; for a request on a namespace, that namespace."""
    if attributes.resource.main.key == _NAMESPACES:
        return attributes.name
    return attributes.namespace


def selects(hook: MatchRules, attributes: Attributes, find: FindNamespace) -> bool:
    """Whether the selectors of a webhook match a write; raises NotFound if its namespace is
    missing."""
    if hook.objects is not None and not _selects_object(hook.objects, attributes):
        return False
    if hook.namespaces is None:
        return True
    is_namespace = attributes.resource.main.key == _NAMESPACES
    if not attributes.namespace and not is_namespace:
        return True
    return selector_matches(hook.namespaces, _namespace_labels(attributes, find, is_namespace))


def _namespace_labels(
    attributes: Attributes, find: FindNamespace, is_namespace: bool
) -> dict[str, str]:
    written = attributes.operation in (CREATE, UPDATE) and not attributes.subresource
    if is_namespace and written and attributes.value is not None:
        return attributes.value["metadata"].get("labels") or {}
    name = namespace_of(attributes)
    entry = find(name)
    if entry is None:
        raise not_found(ResourceRef("", "namespaces", name))
    return dict(entry.labels)


def _selects_object(selector: Object, attributes: Attributes) -> bool:
    """Whether the new or the old object matches; objects that cannot have labels never match."""
    needs_labels = attributes.context.dialect.object_selectors_need_labels
    return any(
        (labels or not needs_labels) and selector_matches(selector, labels)
        for labels in _object_labels(attributes)
    )


def _object_labels(attributes: Attributes) -> Iterator[Mapping[str, str]]:
    """The labels of each object of a write that can have labels."""
    if attributes.resource.is_scale:  # a Scale does not have the labels of its workload
        yield {}
        return
    for value in (attributes.value, attributes.old):
        if value is not None and "metadata" in value:
            yield value["metadata"].get("labels") or {}
