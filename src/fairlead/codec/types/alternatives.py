"""Values that are of one type or another: any value in JSON, a field for each type in a struct."""

from __future__ import annotations

from typing import Any

from fairlead.codec.types.model import Field, ListOf, MapOf, Object, Struct


class Alternatives:
    """A struct of which a value is one field: an object, a list, or a switch which says that any
    object would do or none."""

    def __init__(self, struct: Struct) -> None:
        self.struct = struct
        self.switch = self._object = self._list = ""
        for field in struct.fields.values():
            if isinstance(field.type, Struct):
                self._object = field.name
            elif isinstance(field.type, ListOf):
                self._list = field.name
            else:
                self.switch = field.name

    def spread(self, value: Any) -> Object:
        """A value as an object of the struct; an empty one if it is none of them."""
        made: Object = {}
        if isinstance(value, dict):
            if self._object:
                made[self._object] = value
            if self.switch:
                made[self.switch] = True
        elif isinstance(value, list):
            if self._list:
                made[self._list] = value
        elif self.switch and isinstance(value, bool):
            made[self.switch] = value
        return made

    def gathered(self, found: Object) -> Any:
        """The value that such an object stands for."""
        if self._list and found.get(self._list):
            return found[self._list]
        if self._object in found:
            return found[self._object]
        if self.switch:
            return bool(found.get(self.switch))
        return None


def alternatives_of(field: Field) -> Alternatives | None:
    """What a field, or an entry of a map, is in a message if it is no value of its type."""
    if field.message is not None:
        return Alternatives(field.message)
    if not isinstance(field.type, MapOf) or not isinstance(field.type.element, ListOf):
        return None
    items = Field("items", field.type.element, number=1)  # of a list inside a map
    return Alternatives(Struct("items", fields={"items": items}))
