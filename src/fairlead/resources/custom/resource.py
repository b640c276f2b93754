"""A custom resource as a served `Resource`."""

from __future__ import annotations

from fairlead.base.dialect import Dialect
from fairlead.codec.types.model import Struct
from fairlead.resources.custom.behaviour import CustomBehaviour
from fairlead.resources.custom.definition import CustomKind
from fairlead.resources.registry import SUBRESOURCE_VERBS, GroupVersion, Resource
from fairlead.storage.audience import Watcher

# In the reference's order.
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
# The verbs in discovery while the definition is being deleted.
LAST_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_SCALE = "autoscaling/v1.Scale"


class CustomResource(Resource):
    """A custom resource in one version. The instance stays the same while its definition changes,
    so that watches continue."""

    custom: CustomKind

    def __init__(self, dialect: Dialect, group_version: GroupVersion, kind: CustomKind) -> None:
        definition = kind.definition
        scope = "namespaced" if definition.namespaced else "cluster"
        marks = dict.fromkeys(("conditional", "plentiful", scope), "")
        super().__init__(
            dialect,
            definition.types,
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
        """Take over a changed definition."""
        definition = kind.definition
        self.custom = kind
        self.kind = definition.kind
        self.verbs = VERBS
        self.short_names = definition.short_names
        self.categories = definition.categories
        self.selectable = kind.selectable
        self.deprecation = kind.deprecation
        self.storage_prefix = f"{definition.group}/{definition.plural}"
        self._head = b""  # depends on the kind
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
        """True: `operations.stored_versions` converts stored objects to this version first."""
        return True

    def end_watches(self) -> None:
        for watcher in tuple(self.watchers):
            watcher.close()


class _Status(Resource):
    """The status of a custom resource; its body is the whole object."""

    def __init__(self, parent: CustomResource) -> None:
        marks: dict[str, str] = {"verbs": ",".join(SUBRESOURCE_VERBS)}
        name = f"{parent.name}/status"
        super().__init__(
            parent.dialect, parent._types, parent.group_version, name, parent.kind, marks, parent
        )

    @property
    def struct(self) -> Struct:
        return self.main.struct
