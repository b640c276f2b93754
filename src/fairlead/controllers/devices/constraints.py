"""Constraints of a claim on the attributes of the devices that it gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fairlead.controllers.devices.pools import Device, DeviceKey
from fairlead.operations.api import Object
from fairlead.resources.resource.selectors import attribute_value


class Want(NamedTuple):
    """One alternative of a request: `count` devices out of the candidates. `name` is the name of
    the request in results."""

    claim: int
    name: str
    request: Object
    number: int
    candidates: Sequence[Device]

    @property
    def is_for_all(self) -> bool:
        return bool(self.request.get("allocationMode") == "All")


class Constraint:
    """A constraint, and the devices chosen so far for which it holds. They are removed in the
    reverse order."""

    def __init__(self, constraint: Object, requests: Iterable[Sequence[Want]]) -> None:
        """`requests` are the alternatives of each request of the claim."""
        self._names = frozenset(constraint.get("requests") or ())
        match = constraint.get("matchAttribute")
        self._is_match = bool(match)
        self._attribute: str = match or constraint.get("distinctAttribute") or ""
        self._values: list[Any] = []
        self._needed = 0  # the minimum number of devices that it concerns
        by_value: dict[Any, set[DeviceKey]] = {}
        self._has_shared = False
        for alternatives in requests:
            concerned = [want for want in alternatives if self.concerns(want)]
            if len(concerned) == len(alternatives):
                self._needed += min((want.number for want in concerned), default=0)
            for want in concerned:
                for device in want.candidates:
                    self._has_shared = self._has_shared or device.is_shared
                    by_value.setdefault(self._value(device), set()).add(device.key)
        by_value.pop(None, None)
        self._supply = {value: len(keys) for value, keys in by_value.items()}

    def concerns(self, want: Want) -> bool:
        names = self._names
        return not names or want.name in names or want.name.partition("/")[0] in names

    def can_hold(self) -> bool:
        """False if no choice of devices can satisfy the constraint."""
        if self._is_match:
            most = max(self._supply.values(), default=0)
            return self._needed == 0 or self._has_shared or most >= self._needed
        return len(self._supply) >= self._needed

    def add(self, device: Device) -> bool:
        value = self._value(device)
        if value is None:
            return False
        if self._is_match:
            is_wrong = value != self._values[-1] if self._values else self._is_scarce(value)
        else:
            is_wrong = value in self._values
        if not is_wrong:
            self._values.append(value)
        return not is_wrong

    def remove(self) -> None:
        self._values.pop()

    def _is_scarce(self, value: Any) -> bool:
        """Whether too few devices have this value."""
        return not self._has_shared and self._supply.get(value, 0) < self._needed

    def _value(self, device: Device) -> Any:
        """The value of the attribute, with its type; None without it."""
        attributes = device.value.get("attributes") or {}
        domain, _, identifier = self._attribute.partition("/")
        value = attributes.get(self._attribute)
        if value is None and domain == device.key[0]:
            value = attributes.get(identifier)
        if value is None:
            return None
        if value.get("version") is not None:
            return ("version", value["version"])
        read = attribute_value(value)
        return (type(read).__name__, read)
