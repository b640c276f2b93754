"""The built-in types, parsed lazily from the tables in this folder, one group-version at a time."""

from __future__ import annotations

import re
from functools import cache

from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.base.release import V1_25, Release
from fairlead.codec.types.model import Struct
from fairlead.codec.types.notation import Structs

_CONDITION = re.compile(r"^(?P<line>.*) if=(?P<switch>\w+)$", re.MULTILINE)


class BuiltinTypes:
    """The types of one dialect and release. Names are of the form `core/v1.Pod`, `rbac/v1.Role`.
    `partial_keys`: see `ListOf`."""

    def __init__(
        self, dialect: Dialect, release: Release = V1_25, partial_keys: bool = False
    ) -> None:
        self.dialect = dialect
        self.release = release
        self.partial_keys = partial_keys
        self._loaded: dict[str, Structs] = {}

    def group_version(self, name: str) -> Structs:
        """All types of a group-version such as `core/v1`, by name."""
        loaded = self._loaded.get(name)
        if loaded is None:
            text = text_beside(__file__, name.replace("/", "-") + ".types")
            text = self.release.select(text)
            text = text.replace("x-@-", f"x-{self.dialect.marker}-")
            text = text.replace(".@", "." + self.dialect.group_domain)
            text = _CONDITION.sub(self._kept_line, text)
            structs = Structs(name, text, self.group_version, self.partial_keys)
            loaded = self._loaded.setdefault(name, structs)
        return loaded

    def _kept_line(self, match: re.Match[str]) -> str:
        """The line of a field that depends on a switch; empty if the switch is off."""
        return match["line"] if getattr(self.dialect, match["switch"]) else ""

    def struct(self, name: str) -> Struct:
        group_version, _, short = name.rpartition(".")
        return self.group_version(group_version)[short]


@cache
def _names() -> dict[str, str]:
    """The rows of `names.table`, loaded lazily."""
    names: dict[str, str] = {}
    group_version = ""
    for line in text_beside(__file__, "names.table").splitlines():
        words = line.split()
        if line.startswith(" "):
            names[f"{group_version}.{words[0]}"] = words[1]
        elif words and words[0] != "#":
            group_version = words[0]
    return names


def type_name_of(struct: Struct, field: str) -> str | None:
    """The name of a field's type in messages if the type is a named one: `v1.ResourceList`."""
    own = struct.fields[field].type_name
    return own or _names().get(f"{struct.group_version}.{struct.name}.{field}")
