"""ResourceQuota: rejects writes that exceed the quotas of their namespace.

The usage that a write adds is charged to the status of the quotas in the same commit, with the
precondition that the quotas are unchanged since the check. A failed write charges nothing, and
concurrent writes cannot exceed a quota together.
"""

from __future__ import annotations

from collections.abc import Awaitable

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import PODS, PluginBase, refusal
from fairlead.admission.plugins.namespace_lifecycle import Find
from fairlead.admission.plugins.resource_quota.limited_resources import (
    limited_names,
    limited_scopes,
    read_limited,
)
from fairlead.admission.plugins.resource_quota.measures import Measures
from fairlead.admission.plugins.resource_quota.quotas import Quota, Quotas, increase
from fairlead.admission.plugins.resource_quota.scopes import (
    CLAIMS,
    Scopes,
    Selector,
    claim_scopes,
    pod_is_terminating,
    scopes_of,
)
from fairlead.admission.plugins.resource_quota.usage import Measure, Usage
from fairlead.admission.plugins.version_facts import FindCollection
from fairlead.base import budget
from fairlead.base.dialect import Dialect
from fairlead.codec.configuration_files import Section
from fairlead.resources.context import Context
from fairlead.storage.backend import Precondition
from fairlead.storage.version import Version

QUOTAS = "core/v1/resourcequotas"

# Bytes: all quotas that a write charges are written in one commit, whose size is bounded.
_MAX_CHARGED = 2 * 1024 * 1024
_BYTES_PER_CHARGE = 4 * 1024  # budgeted per charged quota, for encoding and storing it


class ResourceQuota(PluginBase):
    """Checks and charges quotas. Only an update that increases usage, or moves the object into the
    scope of another quota, can be rejected. So the decision on an update that changes nothing does
    not depend on the quotas."""

    name = "ResourceQuota"

    def __init__(
        self,
        dialect: Dialect,
        find: Find,
        collection: FindCollection,
        configured: Section | None = None,
    ) -> None:
        self._dialect = dialect
        self._find = find
        self._find_collection = collection
        self._collection = collection(QUOTAS)
        self._measures: Measures | None = None
        self._quotas = Quotas()
        self._limited = read_limited(configured)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        if not len(self._collection) and not self._limited:
            return None
        measure = self._measure(attributes)
        if measure is None:
            return None
        versions = self._of(attributes.namespace)
        if not versions and not self._limited:
            return None
        return self._validate(attributes, measure, versions)

    async def _validate(
        self, attributes: Attributes, measure: Measure, versions: list[Version]
    ) -> None:
        before, after = await budget.run(0, _both_scopes, attributes)
        added = await budget.run(0, _added, attributes, measure)
        if added or before != after:
            await self._check_and_charge(attributes, measure, versions, added, before, after)

    def _measure(self, attributes: Attributes) -> Measure | None:
        """The measure of a write's resource; None for writes that add to no quota."""
        if not attributes.namespace or attributes.operation not in (CREATE, UPDATE):
            return None
        if self._measures is None:
            gates = attributes.context.gates
            self._measures = Measures(self._dialect, gates, self._find_collection)
        if attributes.resource.key == f"{PODS}/resize" or _changes_scopes(attributes):
            return self._measures.of(attributes.resource.main)
        measure = self._measures.of(attributes.resource)
        if measure is None or attributes.operation == CREATE or measure.measures_updates:
            return measure
        return None

    def _of(self, namespace: str) -> list[Version]:
        """The newest versions of a namespace's quotas, including uncommitted charges."""
        newest = [
            self._find(QUOTAS, namespace, entry.name)
            for entry in self._collection.current(namespace)
        ]
        return [version for version in newest if version is not None]

    async def _check_and_charge(
        self,
        attributes: Attributes,
        measure: Measure,
        versions: list[Version],
        added: Usage,
        before: Scopes | None,
        scopes: Scopes | None,
    ) -> None:
        """Check and charge the quotas. A quota that did not count the object before the write is
        charged with its whole usage. Large quotas are processed in a thread and may change
        meanwhile: then the write's precondition fails, and the write is admitted again."""
        assert attributes.value is not None
        usage = await budget.run(0, measure.usage, attributes.value)
        charged: list[tuple[Version, Quota, Usage]] = []
        covered: set[str] = set()
        selectors: set[Selector] = set()
        size = 0
        for version in versions:
            quota = await self._quotas.of(version)
            selectors.update(quota.selectors)
            length = len(version.body or b"")
            names = await budget.run(length, _limited_by, attributes, measure, quota, scopes)
            covered.update(names)
            amounts = added if quota.matches(before) else usage
            charge = {
                name: amounts[name] for name in names if name in amounts and amounts[name].value
            }
            if charge:
                charged.append((version, quota, charge))
                size += _BYTES_PER_CHARGE + length
            if size > _MAX_CHARGED:
                reason = "the quotas of its namespace are too many or too large to be charged"
                raise refusal(attributes, reason)
        if self._limited:
            self._check_covered(attributes, usage, covered)
            self._check_scopes_covered(attributes, scopes, selectors)
        for version, quota, charge in charged:
            length = len(version.body or b"")
            self._charge(
                attributes.context,
                version,
                await budget.run(length, _charge_quota, attributes, quota, charge),
            )

    def _charge(self, context: Context, version: Version, charged: Quota) -> None:
        unchanged = Precondition(self._collection.resource, version.key, version.revision)
        context.requires.append(unchanged)
        context.alongside.append(self._quotas.charge(self._collection, version, charged))

    def _check_covered(self, attributes: Attributes, usage: Usage, covered: set[str]) -> None:
        """Reject limited resources that no quota covers."""
        resource = attributes.resource
        of_resource = [
            entry
            for entry in self._limited
            if (entry.group, entry.resource) == (resource.group, resource.name)
        ]
        bare = sorted(set(limited_names(of_resource, usage)) - covered)
        if bare:
            raise refusal(attributes, f"insufficient quota to consume: {','.join(bare)}")

    def _check_scopes_covered(
        self, attributes: Attributes, scopes: Scopes | None, selectors: set[Selector]
    ) -> None:
        if scopes is None:
            return
        covered = {selector.scope for selector in selectors if scopes.match(selector)}
        bare = [
            selector
            for selector in limited_scopes(self._limited, scopes)
            if selector.scope not in covered
        ]
        if bare:
            listed = " ".join(map(str, bare))
            raise refusal(attributes, f"insufficient quota to match these scopes: [{listed}]")


def _changes_scopes(attributes: Attributes) -> bool:
    """Whether an update moves an object into the scope of other quotas, which must then be charged
    although the resource or subresource of the update adds no usage."""
    old, value = attributes.old, attributes.value
    if old is None or value is None:
        return False
    if attributes.resource.key == PODS:
        changed = pod_is_terminating(old) != pod_is_terminating(value)
        return changed and attributes.context.gates["QuotasOfNewScopes"]
    return attributes.resource.key == f"{CLAIMS}/status" and claim_scopes(old) != claim_scopes(
        value
    )


def _both_scopes(attributes: Attributes) -> tuple[Scopes | None, Scopes | None]:
    """The scopes of an object before and after a write; the same for a new object."""
    assert attributes.value is not None
    key = attributes.resource.main.key
    after = scopes_of(key, attributes.value)
    return after if attributes.old is None else scopes_of(key, attributes.old), after


def _added(attributes: Attributes, measure: Measure) -> Usage:
    """The usage that a write adds to the previous usage."""
    assert attributes.value is not None
    usage = measure.usage(attributes.value)
    return usage if attributes.old is None else increase(usage, measure.usage(attributes.old))


def _limited_by(
    attributes: Attributes, measure: Measure, quota: Quota, scopes: Scopes | None
) -> list[str]:
    """The names in a quota that apply to an object; empty if the quota's scopes do not match.
    Raises Forbidden if the object lacks required requests or limits, or the quota's status has no
    usage yet."""
    assert attributes.value is not None
    names = measure.matching(quota.names)
    if not names or not quota.matches(scopes):
        return []
    missing = measure.missing(names, attributes.value)
    if missing:
        raise refusal(attributes, f"failed quota: {quota.name}: {missing}")
    if any(name not in quota.used or name not in quota.hard for name in names):
        listed = ",".join(sorted(names))
        message = f"status unknown for quota: {quota.name}, resources: {listed}"
        raise refusal(attributes, message)
    return names


def _charge_quota(attributes: Attributes, quota: Quota, charge: Usage) -> Quota:
    """The quota with a charge added; raises Forbidden if it exceeds the quota."""
    excess = quota.excess(charge)
    if excess:
        raise refusal(attributes, excess)
    return quota.charged(charge)
