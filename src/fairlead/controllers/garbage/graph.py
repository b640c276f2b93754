"""Who depends on whom, in as few bytes as will do."""

from __future__ import annotations

from collections.abc import Collection, Iterable

Kind = tuple[str, str]  # apiVersion and kind


class Edges:
    """Keys of objects by a word. Words are kept as hashes: two that share one cost a look at an
    object that need not have been looked at. Most have a single key, which then needs no set."""

    def __init__(self) -> None:
        self._keys: dict[int, str | set[str]] = {}

    def __len__(self) -> int:
        return sum(1 if type(keys) is str else len(keys) for keys in self._keys.values())

    def add(self, word: str, key: str) -> None:
        known = self._keys.setdefault(hash(word), key)
        if type(known) is set:
            known.add(key)
        elif known != key:
            assert isinstance(known, str)
            self._keys[hash(word)] = {known, key}

    def remove(self, word: str, key: str) -> bool:
        """Gives whether that was the word's last key."""
        known = self._keys.get(hash(word))
        if type(known) is set:
            known.discard(key)
        if known == key or known == set():
            del self._keys[hash(word)]
            return True
        return False

    def of(self, word: str) -> Collection[str]:
        """Not a copy: who waits while going through it must make one."""
        known = self._keys.get(hash(word))
        if known is None:
            return ()
        return (known,) if isinstance(known, str) else known


class Graph:
    """The dependents of owners by uid, and what has happened to owners. An edge may be out of date
    after a failure: whoever follows it looks at the object."""

    def __init__(self) -> None:
        self._dependents = Edges()
        self._unresolved: dict[str, dict[Kind, set[str]]] = {}  # by group
        self._waiting: dict[str, str] = {}
        self._absent: set[str] = set()  # uids of owners that went while they had dependents

    def __len__(self) -> int:
        return len(self._dependents)

    def add(self, uid: str, key: str) -> None:
        self._dependents.add(uid, key)

    def remove(self, uid: str, key: str) -> None:
        if self._dependents.remove(uid, key):
            self._absent.discard(uid)

    def dependents(self, uid: str) -> Collection[str]:
        """Not a copy."""
        return self._dependents.of(uid)

    def gone(self, uid: str) -> Collection[str]:
        """An object went; gives who depends on it."""
        self._waiting.pop(uid, None)
        left = self._dependents.of(uid)
        if left:
            self._absent.add(uid)
        return left

    def is_absent(self, uid: str) -> bool:
        """Whether an owner is known to have existed and gone."""
        return uid in self._absent

    def begin_waiting(self, uid: str, key: str) -> bool:
        """An owner waits for its dependents to go first; gives whether that is new."""
        if uid in self._waiting:
            return False
        self._waiting[uid] = key
        return True

    def end_waiting(self, uid: str) -> None:
        self._waiting.pop(uid, None)

    def waiting(self, uid: str) -> str | None:
        """The key of an owner that waits for its dependents."""
        return self._waiting.get(uid)

    def has_waiting_dependent(self, uid: str) -> bool:
        dependents = self._dependents.of(uid)
        return any(key in dependents for key in self._waiting.values())

    def unresolved(self, kind: Kind, key: str) -> None:
        """A dependent has an owner of a kind that nobody serves."""
        self._unresolved.setdefault(_group(kind), {}).setdefault(kind, set()).add(key)

    def forget_unresolved(self, kind: Kind, key: str) -> None:
        keys = self._unresolved.get(_group(kind), {}).get(kind)
        if keys is not None:
            keys.discard(key)
            if not keys:
                self.resolved(kind)

    def unresolved_kinds(self, group: str) -> list[Kind]:
        return list(self._unresolved.get(group, ()))

    def resolved(self, kind: Kind) -> Iterable[str]:
        """A kind is served now; gives who was waiting for that."""
        kinds = self._unresolved.get(_group(kind), {})
        keys = kinds.pop(kind, set())
        if not kinds:
            self._unresolved.pop(_group(kind), None)
        return keys


def _group(kind: Kind) -> str:
    return kind[0].rpartition("/")[0]
