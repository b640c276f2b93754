"""The watchers of a collection: who hears of a change, and as what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairlead.storage.change import Change
from fairlead.storage.selection import Fact, Requirement, Selection
from fairlead.storage.watcher import Watcher, event_type

_ANY = "*"  # stands for all values of a fact; none of a label or a name is that
_MOST_VALUES = 16  # of a selection by which its group is found; each costs an entry

Rules = tuple[tuple[Requirement, ...], tuple[Requirement, ...]]


class Group:
    """Watchers with the same selection: what a change is to one it is to all."""

    __slots__ = ("_selection", "watchers")

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self.watchers: dict[int, Watcher] = {}

    def tell(self, change: Change, alone: bool) -> None:
        watchers = tuple(self.watchers.values())
        try:
            kind = event_type(change, self._selection)
        except Exception as error:
            for watcher in watchers:
                watcher.fail(error)
            return
        if kind is not None:
            for watcher in watchers:
                watcher.deliver(kind, change, alone)


class Scope:
    """The groups of one part of the collection. A selection that names values of a fact, or asks
    for it to be there, is only held against changes of objects with such a value."""

    __slots__ = ("_by_fact", "_groups", "_others")

    def __init__(self) -> None:
        self._groups: dict[Rules, Group] = {}
        self._others: dict[Rules, Group] = {}
        self._by_fact: dict[Fact, dict[str, dict[Rules, Group]]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __iter__(self) -> Iterator[Watcher]:
        for group in self._groups.values():
            yield from group.watchers.values()

    @property
    def everybody(self) -> int:
        """How many look at every change, whatever its facts are."""
        return sum(len(group.watchers) for group in self._others.values())

    def add(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            group = self._groups[rules] = Group(watcher.selection)
            for place in self._places(watcher.selection):
                place[rules] = group
        group.watchers[id(watcher)] = watcher

    def remove(self, watcher: Watcher) -> None:
        rules = watcher.selection.rules
        group = self._groups.get(rules)
        if group is None:
            return
        group.watchers.pop(id(watcher), None)
        if not group.watchers:
            del self._groups[rules]
            for place in self._places(watcher.selection):
                del place[rules]
            self._clear_places(watcher.selection)

    def tell(self, change: Change, alone: bool) -> None:
        if self._others:
            for group in tuple(self._others.values()):
                group.tell(change, alone)
        if self._by_fact:
            for group in self._concerned(change):
                group.tell(change, alone)

    def _places(self, selection: Selection) -> list[dict[Rules, Group]]:
        """Where a group with this selection is kept."""
        for fact, values in selection.clues:
            if values is None or len(values) <= _MOST_VALUES:
                by_value = self._by_fact.setdefault(fact, {})
                return [by_value.setdefault(value, {}) for value in values or (_ANY,)]
        return [self._others]

    def _clear_places(self, selection: Selection) -> None:
        for clue in selection.clues:
            by_value = self._by_fact.get(clue.fact, {})
            for value in clue.values or (_ANY,):
                if value in by_value and not by_value[value]:
                    del by_value[value]
            if not by_value:
                self._by_fact.pop(clue.fact, None)

    def _concerned(self, change: Change) -> Iterable[Group]:
        found: dict[Rules, Group] = {}
        for fact, by_value in self._by_fact.items():
            try:
                values = {fact.of(one) for one in (change.before, change.after) if one is not None}
            except Exception:  # each of them finds out for itself
                values = set(by_value)
            values.discard(None)
            if values:
                values.add(_ANY)
            for value in values:
                if value in by_value:
                    found.update(by_value[value])
        return found.values()


class Audience:
    """The watchers by what part of the collection they watch: all, a namespace, or one key."""

    __slots__ = ("_scopes",)

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}

    def __bool__(self) -> bool:
        return bool(self._scopes)

    def __iter__(self) -> Iterator[Watcher]:
        for scope in self._scopes.values():
            yield from scope

    def add(self, watcher: Watcher) -> None:
        self._scopes.setdefault(watcher.scope, Scope()).add(watcher)

    def remove(self, watcher: Watcher) -> None:
        scope = self._scopes.get(watcher.scope)
        if scope is not None:
            scope.remove(watcher)
            if not scope:
                del self._scopes[watcher.scope]

    def count(self, key: str) -> int:
        """About how many hear of a change of a key: those who select by facts are few for each."""
        return sum(
            scope.everybody
            for name in _concerned_by(key)
            if (scope := self._scopes.get(name)) is not None
        )

    def tell(self, change: Change, alone: bool) -> None:
        for name in _concerned_by(change.key):
            scope = self._scopes.get(name)
            if scope is not None:
                scope.tell(change, alone)


def _concerned_by(key: str) -> tuple[str, str, str]:
    """The names of scopes that a key belongs to."""
    return "", key.rpartition("/")[0] + "/", key
