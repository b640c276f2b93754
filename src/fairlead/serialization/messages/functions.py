"""Functions that are written and compiled for one struct each.

A message is a few hundred fields of a few bytes: looking each of them up in a table and calling
what is found there costs more than the field itself. So the code for a struct's fields is laid out
one after the other, as one would by hand for one type, and compiled when the struct is first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.schema.model import Struct

Function = Callable[..., Any]
Names = dict[str, Any]  # what the code of a function refers to
# Gives the source of a function called `made` and fills in the names that it needs.
Author = Callable[[Struct, Names], str]


class Generated:
    """The function of a struct. It is made when first called, since types refer to themselves and
    most of them are never met; whoever holds `call` under a name then has the function itself."""

    __slots__ = ("_author", "_holders", "_struct", "call")

    def __init__(self, struct: Struct, author: Author) -> None:
        self._struct, self._author = struct, author
        self._holders: list[tuple[Names, str]] = []
        self.call: Function = self._make_and_call

    def hold(self, names: Names, name: str) -> None:
        names[name] = self.call
        self._holders.append((names, name))

    def _make_and_call(self, *arguments: Any) -> Any:
        if self.call == self._make_and_call:
            self.call = self._make()
            for names, name in self._holders:
                names[name] = self.call
        return self.call(*arguments)

    def _make(self) -> Function:
        names: Names = {}
        source = self._author(self._struct, names)
        exec(compile(source, f"<{self._struct.group_version}.{self._struct.name}>", "exec"), names)
        made: Function = names["made"]
        return made


def generated(struct: Struct, walker: str, author: Author) -> Generated:
    """The function that an author makes for a struct; the struct keeps it."""
    found: Generated | None = struct.walkers.get(walker)
    if found is None:
        found = struct.walkers[walker] = Generated(struct, author)
    return found
