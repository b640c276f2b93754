"""ResourceQuota: nothing new in a namespace beyond what its quotas allow.

What a write adds is charged to the status of the quotas in the same commit as the write, on the
condition that they are still as they were when it was judged. So whatever fails charges nothing,
and no number of writes at once comes to more than is allowed.
"""

from __future__ import annotations

from fairlead.admission.configuration import Section
from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, PluginBase, refusal
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.remembering import FindCollection
from fairlead.admission.plugins.resource_quota.limiting import (
    limited_names,
    limited_scopes,
    read_limited,
)
from fairlead.admission.plugins.resource_quota.measuring import Measure, Measures, Usage
from fairlead.admission.plugins.resource_quota.quotas import Quota, Quotas, increase
from fairlead.admission.plugins.resource_quota.scopes import PodScopes, scopes_of
from fairlead.dialect import Dialect
from fairlead.kinds.context import Context
from fairlead.storage.backend import Precondition
from fairlead.storage.version import Version

QUOTAS = "core/v1/resourcequotas"

Standing = tuple[Version, Quota]


class ResourceQuota(PluginBase):
    """An update that uses no more than before is never refused, whatever quotas there are. So
    updates that change nothing are judged by themselves alone."""

    name = "ResourceQuota"

    def __init__(
        self,
        dialect: Dialect,
        find: Find,
        collection: FindCollection,
        configured: Section | None = None,
    ) -> None:
        self._find = find
        self._collection = collection(QUOTAS)
        self._measures = Measures(dialect)
        self._quotas = Quotas()
        self._limited = read_limited(configured)

    async def validate(self, attributes: Attributes) -> None:
        if not len(self._collection) and not self._limited:
            return
        measure = self._measure(attributes)
        if measure is None:
            return
        quotas = self._of(attributes.namespace)
        if not quotas and not self._limited:
            return
        added = _added(attributes, measure)
        if added:
            self._judge(attributes, measure, quotas, added)

    def _measure(self, attributes: Attributes) -> Measure | None:
        """None for writes that add nothing to any quota."""
        if not attributes.namespace or attributes.operation not in (CREATE, UPDATE):
            return None
        found = self._measures.of(attributes.resource)
        if found is None or attributes.operation == CREATE or found.measures_updates:
            return found
        return None

    def _of(self, namespace: str) -> list[Standing]:
        """The quotas of a namespace in their newest versions, charges that are still on their way
        to the disk included."""
        newest = [
            self._find(QUOTAS, namespace, entry.name)
            for entry in self._collection.current(namespace)
        ]
        return [(version, self._quotas.of(version)) for version in newest if version is not None]

    def _judge(
        self, attributes: Attributes, measure: Measure, quotas: list[Standing], added: Usage
    ) -> None:
        assert attributes.value is not None
        scopes = None
        if attributes.resource.key == PODS and (
            self._limited or any(quota.selectors for _, quota in quotas)
        ):
            scopes = scopes_of(attributes.value)
        concerned = _concerned(attributes, measure, quotas, scopes)
        if self._limited:
            covered = {name for _, _, names in concerned for name in names}
            self._check_covered(attributes, measure.usage(attributes.value), covered)
            self._check_scopes_covered(attributes, scopes, quotas)
        for version, quota, names in concerned:
            charge = {name: added[name] for name in names if name in added and added[name].value}
            excess = quota.excess(charge)
            if excess:
                raise refusal(attributes, excess)
            if charge:
                self._charge(attributes.context, version, charge)

    def _charge(self, context: Context, version: Version, charge: Usage) -> None:
        unchanged = Precondition(self._collection.resource, version.key, version.revision)
        context.requires.append(unchanged)
        context.alongside.append(self._quotas.charge(self._collection, version, charge))

    def _check_covered(self, attributes: Attributes, usage: Usage, covered: set[str]) -> None:
        """Refuse what is limited and what no quota gives."""
        resource = attributes.resource
        of_resource = [
            one
            for one in self._limited
            if (one.group, one.resource) == (resource.group, resource.name)
        ]
        bare = sorted(set(limited_names(of_resource, usage)) - covered)
        if bare:
            raise refusal(attributes, f"insufficient quota to consume: {','.join(bare)}")

    def _check_scopes_covered(
        self, attributes: Attributes, scopes: PodScopes | None, quotas: list[Standing]
    ) -> None:
        if scopes is None:
            return
        covered = {
            selector.scope
            for _, quota in quotas
            for selector in quota.selectors
            if scopes.match(selector)
        }
        bare = [one for one in limited_scopes(self._limited, scopes) if one.scope not in covered]
        if bare:
            listed = " ".join(map(str, bare))
            raise refusal(attributes, f"insufficient quota to match these scopes: [{listed}]")


def _added(attributes: Attributes, measure: Measure) -> Usage:
    """What a write uses more than what was there before."""
    assert attributes.value is not None
    usage = measure.usage(attributes.value)
    return usage if attributes.old is None else increase(usage, measure.usage(attributes.old))


def _concerned(
    attributes: Attributes, measure: Measure, quotas: list[Standing], scopes: PodScopes | None
) -> list[tuple[Version, Quota, list[str]]]:
    """The quotas that are about an object, each with what it limits of it. Nothing is let through
    before it is known how much there is already."""
    assert attributes.value is not None
    found = []
    for version, quota in quotas:
        names = measure.matching(quota.names)
        if not names or not quota.is_about(scopes):
            continue
        missing = measure.missing(names, attributes.value)
        if missing:
            raise refusal(attributes, f"failed quota: {quota.name}: {missing}")
        if any(name not in quota.used or name not in quota.hard for name in names):
            listed = ",".join(sorted(names))
            said = f"status unknown for quota: {quota.name}, resources: {listed}"
            raise refusal(attributes, said)
        found.append((version, quota, names))
    return found
