"""A custom resource among the served ones."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.dialect import Dialect
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.model import Struct
from fairlead.resources.custom.behaviour import CustomBehaviour
from fairlead.resources.custom.definition import CustomKind
from fairlead.resources.registry import SUBRESOURCE_VERBS, GroupVersion, Resource
from fairlead.storage.audience import Watcher

# In the order of the reference.
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
# What clients are told to do while the definition goes.
LAST_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_SCALE = "autoscaling/v1.Scale"


class _Types:
    """The types of a custom resource: its own in its present form, and those of the tables."""

    def __init__(self, builtin: BuiltinTypes) -> None:
        self._builtin = builtin

    def struct(self, name: str) -> Struct:
        return self._builtin.struct(name)

    def group_version(self, name: str) -> Mapping[str, Struct]:
        return self._builtin.group_version(name)


class CustomResource(Resource):
    """A custom resource in one version. It stays the same while its definition changes, so that
    those who watch it need not know."""

    custom: CustomKind

    def __init__(self, dialect: Dialect, group_version: GroupVersion, kind: CustomKind) -> None:
        definition = kind.definition
        scope = "namespaced" if definition.namespaced else "cluster"
        marks = dict.fromkeys(("conditional", "plentiful", scope), "")
        super().__init__(
            dialect,
            _Types(definition.types),
            group_version,
            definition.plural,
            definition.kind,
            marks,
            None,
            CustomBehaviour,
        )
        self.watchers: set[Watcher] = set()
        self.define(kind)

    def define(self, kind: CustomKind) -> None:
        """Be what the definition says from now on."""
        definition = kind.definition
        self.custom = kind
        self.kind = definition.kind
        self.verbs = VERBS
        self.short_names = definition.short_names
        self.categories = definition.categories
        self.deprecation = kind.deprecation
        self.storage_prefix = f"{definition.group}/{definition.plural}"
        self._head = b""  # was worked out from the old kind
        self.subresources = {}
        if kind.has_status:
            self.subresources["status"] = _Status(self)
        if kind.scale is not None:
            self.subresources["scale"] = self._scale()

    @property
    def listed_verbs(self) -> tuple[str, ...]:
        return LAST_VERBS if self.custom.definition.terminating else VERBS

    def _scale(self) -> Resource:
        name = f"{self.name}/scale"
        return Resource(self.dialect, self._types, self.group_version, name, _SCALE, {}, self)

    @property
    def struct(self) -> Struct:
        return self.custom.struct

    @property
    def stored_struct(self) -> Struct:
        return self.custom.struct

    @property
    def sends_stored_bytes(self) -> bool:
        """What the store gives was brought into this version before."""
        return True

    def end_watches(self) -> None:
        for watcher in tuple(self.watchers):
            watcher.close()


class _Status(Resource):
    """The status of a custom resource, which has the type of the whole."""

    def __init__(self, parent: CustomResource) -> None:
        marks: dict[str, str] = {"verbs": ",".join(SUBRESOURCE_VERBS)}
        name = f"{parent.name}/status"
        super().__init__(
            parent.dialect, parent._types, parent.group_version, name, parent.kind, marks, parent
        )

    @property
    def struct(self) -> Struct:
        return self.main.struct
