"""OwnerReferencesPermissionEnforcement: users need delete permission on an object to change its
owners, and permission to set finalizers on an owner to block its deletion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from fairlead.admission.plugin import CREATE, UPDATE, Attributes
from fairlead.admission.plugins.base import Object, PluginBase, refusal
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization import attributes as questions
from fairlead.auth.authorization.attributes import Decision
from fairlead.base.dialect import Dialect
from fairlead.base.slices import TimeSlices
from fairlead.resources.registry import Resources

# Returns the authorizer's decision.
Decide = Callable[[questions.Attributes], Awaitable[Decision]]

# Node agents write it without owner references; the kind keeps the stored ones.
_EXEMPT = "core/v1/pods/status"
_FINALIZERS = "finalizers"
_CANNOT_DELETE = "cannot set an ownerRef on a resource you can't delete"
_CANNOT_FINALIZE = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"
    " finalizers on"
)


class OwnerReferencesPermissionEnforcement(PluginBase):
    name = "OwnerReferencesPermissionEnforcement"

    def __init__(self, dialect: Dialect, resources: Resources, decide: Decide) -> None:
        self._resources = resources
        self._decide = decide
        self._both_ways = dialect.owner_unblocking_guarded

    async def validate(self, attributes: Attributes) -> None:
        if attributes.operation not in (CREATE, UPDATE) or attributes.resource.key == _EXEMPT:
            return
        new, old = _owners(attributes.value), _owners(attributes.old)
        if new == old:
            return
        if attributes.operation == UPDATE:
            await self._require(attributes, _deletion(attributes), _CANNOT_DELETE)
        changed = list(_blocking_changes(new, old, self._both_ways))
        if not changed or (await self._decide(_finalizing_anything(attributes.user))).allowed:
            return
        slices = TimeSlices()
        for reference in changed:
            await slices.pause()
            for access in self._finalizing(attributes, reference):
                await self._require(attributes, access, _CANNOT_FINALIZE)

    async def _require(
        self, attributes: Attributes, access: questions.Attributes, reason: str
    ) -> None:
        decision = await self._decide(access)
        if not decision.allowed:
            raise refusal(attributes, f"{reason}: {decision.reason}, {decision.error or '<nil>'}")

    def _finalizing(
        self, attributes: Attributes, reference: Object
    ) -> Iterator[questions.Attributes]:
        """The permissions needed to block an owner's deletion, one for each resource of its
        kind."""
        api_version, kind = reference["apiVersion"], reference["kind"]
        candidates = self._resources.of_kind(api_version, kind)
        if not candidates:
            raise refusal(
                attributes,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for"
                f" APIVersion {api_version} Kind {kind}: no matches for kind"
                f' "{kind}" in version "{api_version}"',
            )
        for resource in candidates:
            yield questions.Attributes(
                attributes.user,
                "update",
                resource.group,
                resource.group_version.version,
                resource.name,
                _FINALIZERS,
                attributes.namespace if resource.namespaced else "",
                reference["name"],
            )


def _owners(value: Object | None) -> list[Object]:
    return ((value or {}).get("metadata") or {}).get("ownerReferences") or []


def _blocking_changes(new: list[Object], old: list[Object], both_ways: bool) -> Iterator[Object]:
    """References that start blocking the deletion of their owner and, with `both_ways`, references
    that stop blocking it."""
    before = {reference["uid"]: _blocks(reference) for reference in old}
    for reference in new:
        blocks, blocked = _blocks(reference), before.get(reference["uid"], False)
        if blocks != blocked and (blocks or both_ways):
            yield reference


def _blocks(reference: Object) -> bool:
    return reference.get("blockOwnerDeletion") is True


def _deletion(attributes: Attributes) -> questions.Attributes:
    resource = attributes.resource
    return questions.Attributes(
        attributes.user,
        "delete",
        resource.group,
        resource.group_version.version,
        resource.main.name,
        resource.subresource,
        attributes.namespace,
        attributes.name,
    )


def _finalizing_anything(user: User) -> questions.Attributes:
    return questions.Attributes(user, "update", "*", "*", "*", _FINALIZERS, name="*")
