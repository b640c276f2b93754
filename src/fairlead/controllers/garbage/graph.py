"""The graph of owners and dependents, in a compact form."""

from __future__ import annotations

from collections.abc import Collection, Iterable

Kind = tuple[str, str]  # apiVersion and kind


class Edges:
    """Keys of objects by word (a uid). Stores hashes of words: a collision only causes an
    unnecessary check of an object. A single key is stored without a set, which is the common
    case."""

    def __init__(self) -> None:
        self._keys: dict[int, str | set[str]] = {}

    def __len__(self) -> int:
        return sum(1 if type(keys) is str else len(keys) for keys in self._keys.values())

    def add(self, word: str, key: str) -> None:
        stored = self._keys.setdefault(hash(word), key)
        if type(stored) is set:
            stored.add(key)
        elif stored != key:
            assert isinstance(stored, str)
            self._keys[hash(word)] = {stored, key}

    def remove(self, word: str, key: str) -> bool:
        """Returns whether the word has no keys left."""
        stored = self._keys.get(hash(word))
        if type(stored) is set:
            stored.discard(key)
        if stored == key or stored == set():
            del self._keys[hash(word)]
            return True
        return False

    def of(self, word: str) -> Collection[str]:
        """The live set: copy it before awaiting during iteration."""
        stored = self._keys.get(hash(word))
        if stored is None:
            return ()
        return (stored,) if isinstance(stored, str) else stored


class Graph:
    """Dependents by uid of their owner, and states of owners. Edges may be stale after a failure,
    so callers must check the object."""

    def __init__(self) -> None:
        self._dependents = Edges()
        # Keys of dependents by owner kind, by group.
        self._unresolved: dict[str, dict[Kind, set[str]]] = {}
        self._waiting: dict[str, str] = {}
        self._absent: set[str] = set()  # uids of owners that were deleted while they had dependents

    def __len__(self) -> int:
        return len(self._dependents)

    def add(self, uid: str, key: str) -> None:
        self._dependents.add(uid, key)

    def remove(self, uid: str, key: str) -> None:
        if self._dependents.remove(uid, key):
            self._absent.discard(uid)

    def dependents(self, uid: str) -> Collection[str]:
        """Keys of the dependents; the live set."""
        return self._dependents.of(uid)

    def record_deleted(self, uid: str) -> Collection[str]:
        """Record that an object was deleted; returns the keys of its dependents."""
        self._waiting.pop(uid, None)
        left = self._dependents.of(uid)
        if left:
            self._absent.add(uid)
        return left

    def is_absent(self, uid: str) -> bool:
        """Whether an owner is known to have been deleted."""
        return uid in self._absent

    def record_waiting(self, uid: str, key: str) -> bool:
        """Record that an owner waits for its dependents (foreground deletion); returns False if it
        already does."""
        if uid in self._waiting:
            return False
        self._waiting[uid] = key
        return True

    def end_waiting(self, uid: str) -> None:
        self._waiting.pop(uid, None)

    def waiting_owner(self, uid: str) -> str | None:
        """The key of an owner that waits for its dependents, or None."""
        return self._waiting.get(uid)

    def has_waiting_dependent(self, uid: str) -> bool:
        dependents = self._dependents.of(uid)
        return any(key in dependents for key in self._waiting.values())

    def record_unresolved(self, kind: Kind, key: str) -> None:
        """Record that the kind of an owner of this dependent is not served."""
        self._unresolved.setdefault(_group(kind), {}).setdefault(kind, set()).add(key)

    def forget_unresolved(self, kind: Kind, key: str) -> None:
        keys = self._unresolved.get(_group(kind), {}).get(kind)
        if keys is not None:
            keys.discard(key)
            if not keys:
                self.take_resolved(kind)

    def unresolved_kinds(self, group: str) -> list[Kind]:
        return list(self._unresolved.get(group, ()))

    def take_resolved(self, kind: Kind) -> Iterable[str]:
        """A kind is served now; returns the keys of dependents that waited for it."""
        kinds = self._unresolved.get(_group(kind), {})
        keys = kinds.pop(kind, set())
        if not kinds:
            self._unresolved.pop(_group(kind), None)
        return keys


def _group(kind: Kind) -> str:
    return kind[0].rpartition("/")[0]
