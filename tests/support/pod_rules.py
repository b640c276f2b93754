"""Pods for tests, taken through the Behaviour interface as a request takes them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.release import RELEASES, V1_25, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.resources.behaviour import Behaviour
from fairlead.resources.catalogue import behaviour_of
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.context import Context
from fairlead.resources.gated_fields import disabled_fields
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resource, Resources

Object = dict[str, Any]
Found = list[tuple[str, str, str]]

RESOURCES = {
    (dialect.name, release.name): Resources(dialect, BuiltinTypes(dialect, release))
    for dialect in (KUBERNETES, CLUSTER)
    for release in RELEASES.values()
}
IN_WORDS = {
    "FieldValueRequired": "required",
    "FieldValueInvalid": "invalid",
    "FieldValueNotSupported": "unsupported",
    "FieldValueDuplicate": "duplicate",
    "FieldValueForbidden": "forbidden",
    "FieldValueNotFound": "not found",
    "FieldValueTooLong": "too long",
    "FieldValueTooMany": "too many",
    "InternalError": "internal",
}


class Kind:
    """One kind of objects in one dialect."""

    def __init__(
        self,
        key: str = "core/v1/pods",
        dialect: Dialect = KUBERNETES,
        release: Release = V1_25,
    ) -> None:
        self.resource: Resource = RESOURCES[dialect.name, release.name].named(key)
        self.behaviour: Behaviour = behaviour_of(self.resource)
        self.dialect = dialect

    def context(self, gates: dict[str, bool] | None = None) -> Context:
        gates_of_release = Gates(gates, self.resource.release)
        return Context(self.dialect, gates_of_release, lambda *_: None, "default")

    def _drop_disabled(self, value: Object, old: Object | None, context: Context) -> None:
        disabled_fields(self.resource.stored_struct, context.gates).drop(value, old)

    def decode(self, value: Object, context: Context | None = None) -> Object:
        """An object as a body becomes one: decoded, with its defaults."""
        value = deepcopy(value)
        value.setdefault("metadata", {}).setdefault("name", "p")
        decoded: Object = decoder(self.resource.struct)(value, [])
        decoded["metadata"]["namespace"] = "default"
        fill_defaults(self.resource.stored_struct, decoded)
        self.behaviour.fill_defaults(decoded, context or self.context())
        return decoded

    def create(
        self, value: Object, gates: dict[str, bool] | None = None
    ) -> tuple[Object, Found, list[str]]:
        """Return the object that would be stored, its errors and its warnings."""
        context = self.context(gates)
        item = self.decode(value, context)
        self._drop_disabled(item, None, context)
        self.behaviour.prepare_create(item, context)
        causes = new_causes(context.gates)
        self.behaviour.check_create(item, causes, context)
        self.behaviour.warnings(item, None, context)
        return item, brief(causes), context.warnings

    def update(self, value: Object, old: Object, subresource: str = "") -> tuple[Object, Found]:
        """Return a stored object after its replacement by a decoded one, and the errors."""
        context = self.context()
        value, before = deepcopy(value), deepcopy(old)
        causes = new_causes(context.gates)
        self._drop_disabled(value, old, context)
        if subresource:
            self.behaviour.prepare_subresource_update(subresource, value, old, context)
            self.behaviour.check_subresource_update(subresource, value, old, causes, context)
        else:
            self.behaviour.prepare_update(value, old, context)
            self.behaviour.check_update(value, old, causes, context)
        assert old == before, "the old object must stay as it is"
        return value, brief(causes)


def brief(causes: Causes) -> Found:
    """(field, reason, detail) of each cause, without the words that the reason implies."""
    return [(c.field, IN_WORDS[c.reason], _detail(c.message)) for c in causes]


def _detail(message: str) -> str:
    for head in ("Required value", "Forbidden", "Not found", "Internal error"):
        if message.startswith(head):
            return message.removeprefix(head).removeprefix(": ")
    return message.partition(" value: ")[2]


def pod(**spec: Any) -> Object:
    """A pod with one container and these fields in its spec."""
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container_pod(**fields: Any) -> Object:
    """A pod whose only container has these fields."""
    return {"spec": {"containers": [{"name": "c", "image": "i", **fields}]}}


PODS = Kind()


def wrong(value: Object) -> Found:
    """Return the errors of a new pod."""
    return PODS.create(value)[1]
