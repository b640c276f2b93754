"""Taking objects through the behaviour of their kind, as a write does."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.release import V1_25, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.resources.catalogue import behaviour_of
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.context import Context
from fairlead.resources.gated_fields import disabled_fields
from fairlead.resources.gates import Gates
from fairlead.resources.registry import Resources

Object = dict[str, Any]
Found = list[tuple[str, str, str]]

DROP = object()
DIALECTS = {"kubernetes": KUBERNETES, "cluster": CLUSTER}


def changed(base: Object, changes: dict[str, Any]) -> Object:
    """A copy with values at dotted paths set (`spec.rules[0].host`), or left out (DROP)."""
    value = deepcopy(base)
    for path, held in changes.items():
        *steps, last = [int(s) if s.isdigit() else s for s in re.findall(r"[^.\[\]]+", path)]
        at: Any = value
        for step in steps:
            at = at[step]
        if held is DROP:
            at.pop(last, None)
        elif isinstance(at, list) and last == len(at):
            at.append(held)
        else:
            at[last] = held
    return value


class Kind:
    """A kind in one dialect; `key` is our name for the resource."""

    def __init__(
        self,
        key: str,
        dialect: Dialect = KUBERNETES,
        release: Release = V1_25,
        /,
        **gates: bool,
    ) -> None:
        resources = Resources(dialect, BuiltinTypes(dialect, release))
        self.resource = resources.named(key)
        self.behaviour = behaviour_of(self.resource)
        self.dialect = dialect
        self.gates = Gates(gates, release)
        self.disabled = disabled_fields(self.resource.stored_struct, self.gates)
        self.context = self._context()

    def _context(self, subresource: str = "", user: Any = None) -> Context:
        context = Context(
            self.dialect, self.gates, lambda *_: None, subresource=subresource, user_name="me"
        )
        context.user = user
        return context

    def decode(self, value: Object) -> Object:
        decoded: Object = decoder(self.resource.stored_struct)(deepcopy(value), [])
        metadata = decoded["metadata"]
        metadata.setdefault("name", "a")
        if self.resource.namespaced:
            metadata.setdefault("namespace", "ns")
        fill_defaults(self.resource.stored_struct, decoded)
        self.behaviour.fill_defaults(decoded, self.context)
        return decoded

    def create(self, value: Object, user: Any = None) -> tuple[Object, Found]:
        """Return a new object as stored, and its errors."""
        self.context = self._context(user=user)
        created, causes = self.decode(value), new_causes(self.gates)
        self.disabled.drop(created, None)
        self.behaviour.prepare_create(created, self.context)
        self.behaviour.check_create(created, causes, self.context)
        return created, _causes_of(causes)

    def wrong(self, value: Object) -> Found:
        return self.create(value)[1]

    def existing(self, value: Object) -> Object:
        created, causes = self.create(value)
        assert causes == []
        return created

    def update(self, old: Object, value: Object, subresource: str = "") -> tuple[Object, Found]:
        """Return an updated object as stored, and its errors."""
        self.context = self._context(subresource)
        new, causes, behaviour = self.decode(value), new_causes(self.gates), self.behaviour
        self.disabled.drop(new, old)
        if "generation" in old["metadata"]:
            new["metadata"]["generation"] = old["metadata"]["generation"]
        if subresource:
            behaviour.prepare_subresource_update(subresource, new, old, self.context)
            behaviour.check_subresource_update(subresource, new, old, causes, self.context)
        else:
            behaviour.prepare_update(new, old, self.context)
            behaviour.check_update(new, old, causes, self.context)
        return new, _causes_of(causes)


def _causes_of(causes: Causes) -> Found:
    return [(c.field, c.reason.removeprefix("FieldValue"), c.message) for c in causes]


def invalid(path: str, text: str, detail: str) -> tuple[str, str, str]:
    return path, "Invalid", f"Invalid value: {text}: {detail}"


def required(path: str, detail: str = "") -> tuple[str, str, str]:
    return path, "Required", f"Required value: {detail}" if detail else "Required value"


def forbidden(path: str, detail: str) -> tuple[str, str, str]:
    return path, "Forbidden", f"Forbidden: {detail}"


def unsupported(path: str, text: str, *values: str) -> tuple[str, str, str]:
    listed = ", ".join(f'"{value}"' for value in values)
    return path, "NotSupported", f"Unsupported value: {text}: supported values: {listed}"


def duplicate(path: str, text: str) -> tuple[str, str, str]:
    return path, "Duplicate", f"Duplicate value: {text}"


def too_long(path: str, limit: int) -> tuple[str, str, str]:
    return path, "TooLong", f"Too long: must have at most {limit} bytes"


def too_many(path: str, count: int, limit: int) -> tuple[str, str, str]:
    return path, "TooMany", f"Too many: {count}: must have at most {limit} items"
