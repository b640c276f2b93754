"""What every verb works with: the resources, their behaviour and the store."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.admission.chain import Chain
from fairlead.authentication.factory import Authentication
from fairlead.authorization.chain import Authorizer
from fairlead.authorization.refusal import creation_refusal
from fairlead.authorization.requests import attributes_of
from fairlead.dialect import Dialect
from fairlead.endpoints.known_applies import KnownApplies
from fairlead.endpoints.request import Request
from fairlead.errors import StatusError, bad_request
from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.catalogue import behaviour_of, field_selector
from fairlead.kinds.context import Context
from fairlead.kinds.core.services.allocation import ServiceAllocators
from fairlead.kinds.gates import Gates
from fairlead.kinds.resources import Resource, Resources
from fairlead.patching.prune import Versions
from fairlead.schema.model import Object as Object
from fairlead.storage.collection import Collection
from fairlead.storage.entry import Entry
from fairlead.storage.selection import (
    EVERYTHING,
    Requirement,
    Selection,
    SelectorError,
    parse_fields,
    parse_labels,
)
from fairlead.storage.store import Store

_GENERIC_FIELDS = ("metadata.name", "metadata.namespace")


class Api:
    """One server's API in one dialect. Admission, authentication and authorization need the API to
    be made, and are put in place once they are."""

    authentication: Authentication
    authorizer: Authorizer

    def __init__(self, resources: Resources, store: Store, gates: Gates) -> None:
        self.resources = resources
        self.types = resources.types
        self.dialect: Dialect = resources.dialect
        self.store = store
        self.admission = Chain([])
        self.gates = gates
        self._behaviours: dict[str, Behaviour] = {}
        self._collections: dict[str, Collection] = {}
        self.versions: dict[str, Versions] = {}
        self.allocators: ServiceAllocators | None = None
        self.known_applies = KnownApplies()

    def collection(self, resource: Resource) -> Collection:
        """Where the objects of a resource (or of a subresource's parent) are kept."""
        found = self._collections.get(resource.key)
        if found is None:
            kept = resource.parent or resource
            found = self.store.collection(kept.storage_prefix)
            if found.select_fields is None:
                found.select_fields = field_selector(kept)
            self._collections[resource.key] = found
        return found

    def behaviour(self, resource: Resource) -> Behaviour:
        """The behaviour of the kind in its stored version."""
        kept = resource.parent or resource
        found = self._behaviours.get(kept.key)
        if found is None:
            found = self._behaviours[kept.key] = behaviour_of(self.stored(kept))
        return found

    def stored(self, resource: Resource) -> Resource:
        """The same resource in the version in which it is kept."""
        if resource.stored_version == resource.group_version.table_name:
            return resource
        return self.resources.named(f"{resource.stored_version}/{resource.name}")

    def lookup(self, key: str, namespace: str, name: str) -> Object | None:
        entry = self.find(key, namespace, name)
        return entry.object() if entry is not None else None

    def find(self, key: str, namespace: str, name: str) -> Entry | None:
        """The newest version of an object, by our own name for its resource."""
        resource = self.resources.named(key)
        return self.store.latest(self.collection(resource), resource.storage_key(namespace, name))

    def context(self, request: Request, dry_run: bool = False) -> Context:
        target = request.target
        return Context(
            self.dialect,
            self.gates,
            self.lookup,
            target.namespace,
            target.subresource,
            request.user.name,
            dry_run,
            request.warnings,
            target.resource.group_version.table_name if target.resource else "",
            self.allocators,
            user=request.user,
        )

    async def authorize_create(self, request: Request) -> None:
        """Refuse a request that turns out to create an object where its user may not."""
        attributes = attributes_of(request.user, request.target, "")._replace(verb="create")
        decision = await self.authorizer.authorize(attributes)
        if not decision.allowed:
            raise creation_refusal(attributes, decision)

    def selection(self, request: Request, resource: Resource) -> Selection:
        """The label and field selectors of a request; 400 for what they cannot be."""
        if "labelSelector" not in request.query and "fieldSelector" not in request.query:
            return EVERYTHING
        try:
            labels = parse_labels(request.parameter("labelSelector"))
        except SelectorError as error:
            raise bad_request(str(error)) from None
        try:
            fields = parse_fields(request.parameter("fieldSelector"))
        except SelectorError as error:
            raise bad_request(str(error)) from None
        return Selection(labels, self._known_fields(resource, fields))

    def _known_fields(
        self, resource: Resource, fields: tuple[Requirement, ...]
    ) -> tuple[Requirement, ...]:
        kept = resource.parent or resource
        aliases = _field_aliases(kept)
        known = []
        for rule in fields:
            name = aliases.get(rule.key, rule.key)
            if name not in _GENERIC_FIELDS and name not in kept.selectable:
                raise unknown_field(kept, rule.key)
            known.append(Requirement(name, rule.operator, rule.values))
        return tuple(known)


def _field_aliases(resource: Resource) -> Mapping[str, str]:
    return _EVENT_ALIASES if resource.key == "events/v1/events" else {}


# The events group names what it is about differently from the core group, in which it is kept.
_EVENT_ALIASES = {
    "reportingController": "reportingComponent",
    **{
        f"regarding.{part}": f"involvedObject.{part}"
        for part in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    },
}


def unknown_field(resource: Resource, name: str) -> StatusError:
    if resource.key == "batch/v1/jobs":
        return bad_request(f'field label "{name}" not supported for Job')
    if resource.selectable:
        return bad_request(f"field label not supported: {name}")
    return bad_request(
        f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
