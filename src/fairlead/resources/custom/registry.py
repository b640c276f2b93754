"""Serves resources for definitions: applies each commit before its writer gets the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from fairlead.base.logs import Logger
from fairlead.codec.types.model import Object
from fairlead.resources.catalogue import field_selector
from fairlead.resources.custom.definition import DEFINITIONS as DEFINITIONS
from fairlead.resources.custom.definition import Converter, CustomKind, Definition, priority
from fairlead.resources.custom.resource import CustomResource
from fairlead.resources.registry import GroupVersion, Resource, Resources
from fairlead.storage.collection import Collection
from fairlead.storage.store import Store
from fairlead.storage.version import Change, Version

logger = Logger("fairlead.definitions")

# Makes the converter of a definition; None if its versions differ in name only.
MakeConverter = Callable[[Object], Converter | None]


class Api(Protocol):
    """The parts of the server's API that definitions change."""

    resources: Resources
    store: Store

    def collection(self, resource: Resource) -> Collection: ...

    def withdraw(self, resource: Resource) -> None: ...

    def forget(self, resource: Resource) -> None: ...


class Registry:
    """The stored definitions and the resources that are served for them."""

    def __init__(self, api: Api, make_converter: MakeConverter) -> None:
        self._api = api
        self._make_converter = make_converter
        self._definitions: dict[str, Definition] = {}
        self._by_group: dict[str, dict[str, Definition]] = {}
        self._resources: dict[str, dict[str, CustomResource]] = {}  # served, by apiVersion
        self._unserved: dict[str, CustomResource] = {}
        self._selectable: dict[str, tuple[str, ...]] = {}  # of the served definitions

    def changed(self, change: Change) -> None:
        """Apply a commit. A definition that cannot be parsed is logged and not served."""
        try:
            if change.after is None:
                self._remove(change.key)
            else:
                self._take(change.after)
        except Exception:
            logger.exception("a definition cannot be served", name=change.key)

    def find(self, name: str) -> Definition | None:
        return self._definitions.get(name)

    def of_group(self, group: str) -> Iterator[Definition]:
        yield from self._by_group.get(group, {}).values()

    def builtin_names(self, group: str) -> tuple[set[str], set[str]]:
        """The resource names and kinds of the built-in resources of a group."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for group_version in self._api.resources.groups.get(group, {}).values():
            for resource in group_version.resources.values():
                if resource.custom is None:
                    resources |= {resource.name, resource.kind.lower(), *resource.short_names}
                    kinds |= {resource.kind, resource.list_kind}
        return resources, kinds

    def storage_resource(self, name: str) -> CustomResource | None:
        """The resource in its storage version, served or not. None if the definition owns no
        objects: it must not delete those of a built-in resource of the same name."""
        definition = self._definitions.get(name)
        if definition is None or not definition.plural or self._is_built_in(definition):
            return None
        kind = definition.storage
        resource = self._resources.get(name, {}).get(kind.api_version) or self._unserved.get(name)
        if resource is None or resource.custom is not kind:
            resource = self._unserved[name] = self._resource(kind)
            self._api.resources.register(resource)
        return resource

    def _take(self, source: Version) -> None:
        value = source.object()
        name = value["metadata"]["name"]
        old = self._definitions.get(name)
        if old is not None and old.refresh(source, value):
            definition = old
        else:
            since = self._since(source, value, old)
            converter = self._make_converter(value)
            resources = self._api.resources
            definition = Definition(
                resources.dialect, resources.types, source, value, since, converter
            )
        self._definitions[name] = definition
        self._by_group.setdefault(definition.group, {})[name] = definition
        self._serve(definition)

    def _since(self, source: Version, value: Object, old: Definition | None) -> int:
        """The revision from which objects are validated by the current schemas. Writes in progress
        were validated by the previous schemas, so a change of schema counts from the next
        revision."""
        if old is None:
            return source.revision
        same = _schemas(old.source.object()) == _schemas(value)
        return old.since if same else self._api.store.next_revision

    def _serve(self, definition: Definition) -> None:
        api, name = self._api, definition.name
        old_selectable = self._selectable.get(name, ())
        kinds = [] if self._is_built_in(definition) else definition.served
        wanted_kinds = {kind.api_version: kind for kind in kinds}
        served = self._resources.setdefault(name, {})
        for api_version in [version for version in served if version not in wanted_kinds]:
            self._withdraw(served.pop(api_version), last=not wanted_kinds and not served)
        for api_version, kind in wanted_kinds.items():
            resource = served.get(api_version)
            if resource is None:
                resource = served[api_version] = self._resource(kind)
                api.resources.add(resource)
                self._sort(definition.group)
            elif resource.custom is not kind:
                resource.define(kind)
            api.forget(resource)
            collection = api.collection(resource)
            collection.api_version = definition.storage.api_version
            if definition.selectable != old_selectable:
                resource.end_watches()
                collection.reselect(field_selector(resource))
        if wanted_kinds:
            self._selectable[name] = definition.selectable
        api.resources.touch()

    def _is_built_in(self, definition: Definition) -> bool:
        """Whether the group has a built-in resource of that name, in any version: both would share
        a storage prefix. Such a definition is never served, whatever its status: otherwise
        permission to write the status of definitions would grant all rights to the built-in
        objects."""
        versions = self._api.resources.groups.get(definition.group, {}).values()
        resources = (version.resources.get(definition.plural) for version in versions)
        return any(resource is not None and resource.custom is None for resource in resources)

    def _resource(self, kind: CustomKind) -> CustomResource:
        definition, resources = kind.definition, self._api.resources
        versions = resources.groups.get(definition.group, {})
        group_version = versions.get(kind.version)
        if group_version is None:
            short = next((version.short for version in versions.values()), definition.group)
            group_version = GroupVersion(short, definition.group, kind.version)
        return CustomResource(resources.dialect, group_version, kind)

    def _sort(self, group: str) -> None:
        resources = self._api.resources
        if resources.is_custom(group):
            versions = resources.groups[group]
            resources.groups[group] = {
                name: versions[name] for name in sorted(versions, key=priority)
            }

    def _withdraw(self, resource: CustomResource, *, last: bool) -> None:
        """Stop serving a version. Other versions and their watches continue."""
        resource.end_watches()
        if last:
            self._api.withdraw(resource)
        else:
            self._api.resources.remove(resource)
            self._api.forget(resource)
        self._api.resources.forget(resource)

    def _remove(self, name: str) -> None:
        definition = self._definitions.pop(name, None)
        if definition is None:
            return
        group = self._by_group[definition.group]
        del group[name]
        if not group:
            del self._by_group[definition.group]
        self._selectable.pop(name, None)
        served = self._resources.pop(name, {})
        while served:
            _, resource = served.popitem()
            self._withdraw(resource, last=not served)
        unserved = self._unserved.pop(name, None)
        if unserved is not None:
            self._api.resources.forget(unserved)
        self._api.resources.touch()


def _schemas(value: Object) -> tuple[object, dict[str, object]]:
    spec = value["spec"]
    schemas = {version["name"]: version.get("schema") for version in spec["versions"]}
    return spec.get("preserveUnknownFields"), schemas
