"""The descriptions of types and fields: the `.texts` tables beside the `.types` tables.

A line is a type and its text, or, indented, a field and its text. A type may be several names or
patterns, `VolumeSource|*Probe`; an exact name takes precedence over a pattern. `like group/version`
includes the texts that this table lacks, and all tables include those of `meta/v1`. Tables are
loaded lazily.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from fairlead.base.dialect import Dialect
from fairlead.base.files import file_beside
from fairlead.codec.types import builtin
from fairlead.codec.types.model import Struct

COMMON = "meta/v1"
_LARGE_TABLES = ("core/v1", COMMON)


@dataclass(slots=True)
class _Block:
    names: tuple[str, ...]
    text: str
    fields: dict[str, str] = field(default_factory=dict)

    def describes(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.names)


@dataclass(slots=True)
class _Table:
    """`exact` has the blocks with a single name; `patterns` all others in table order."""

    exact: dict[str, _Block] = field(default_factory=dict)
    patterns: list[_Block] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)

    def blocks(self, name: str) -> list[_Block]:
        own = [self.exact[name]] if name in self.exact else []
        return own + [block for block in self.patterns if block.describes(name)]


class Texts:
    """The texts of the built-in types in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._tables: dict[str, _Table] = {}
        self._blocks: dict[tuple[str, str], list[_Block]] = {}

    def load_large_tables(self) -> None:
        """Load the large tables ahead of their first use; in any thread."""
        for name in _LARGE_TABLES:
            self._table(name)

    def of_type(self, struct: Struct) -> str:
        """The description of a type; empty if it has none."""
        for block in self._of(struct.group_version, struct.name):
            if block.text:
                return block.text
        kind = struct.name.removesuffix("List")
        return f"A list of {kind} objects." if kind != struct.name else ""

    def of_field(self, struct: Struct, name: str) -> str:
        """The description of a field; empty if it has none."""
        for block in self._of(struct.group_version, struct.name):
            if name in block.fields:
                return block.fields[name]
        for part in struct.embedded.values():
            if name in part.struct.fields and (description := self.of_field(part.struct, name)):
                return description
        return ""

    def _of(self, group_version: str, name: str) -> list[_Block]:
        """All blocks for a type, the most specific first."""
        key = (group_version, name)
        block = self._blocks.get(key)
        if block is None:
            table = self._table(group_version)
            block = table.blocks(name)
            for other in (*table.parents, COMMON):
                if other != group_version:
                    block = block + self._table(other).blocks(name)
            self._blocks[key] = block
        return block

    def _table(self, group_version: str) -> _Table:
        table = self._tables.get(group_version)
        if table is None:
            file = file_beside(builtin.__file__, group_version.replace("/", "-") + ".texts")
            text = file.read_text("utf-8") if file.is_file() else ""
            table = parse_texts(text.replace("x-@-", self._dialect.marked("x-@-")))
            self._tables[group_version] = table
        return table


def parse_texts(text: str) -> _Table:
    """Parse one table."""
    table = _Table()
    block = _Block((), "")
    for line in text.splitlines():
        head, _, rest = line.strip().partition(" ")
        if not head or head == "#":
            continue
        if line[0] == " ":
            block.fields[head] = rest.strip()
        elif head == "like":
            table.parents.append(rest.strip())
        else:
            block = _Block(tuple(head.split("|")), rest.strip())
            if head.isalnum():
                table.exact[head] = block
            else:
                table.patterns.append(block)
    return table
