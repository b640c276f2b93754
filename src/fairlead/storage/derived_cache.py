"""A cache of values derived from stored versions: other encodings, cells of Tables.

They are attached to their version and freed with it. Their total size is bounded; eviction
approximates LRU with two generations. Used on the event loop only, but versions may be freed in any
thread.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import ref

from fairlead.storage.metrics import FORMS_DROPPED, FORMS_MADE, KEPT_FORMS_BYTES

if TYPE_CHECKING:
    from fairlead.storage.version import Version

DEFAULT_LIMIT = 64 << 20
_HOLDER_BYTES = 400  # overhead of a version's first form, beside the caller's count
_LARGEST_SHARE = 8  # larger than limit / 8: not kept


class Forms(dict[Hashable, Any]):
    """The derived values of one version, by form key."""

    __slots__ = ("__weakref__", "_cache", "generation", "size")

    def __init__(self, cache: DerivedCache) -> None:
        self._cache = cache
        self.generation = 0
        self.size = 0

    def __del__(self) -> None:
        self._cache.release(self)


class DerivedCache:
    """Bounds the size of all forms. Holds only weak references, so it keeps no version alive."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self._bytes = 0
        self._freed_sizes: list[int] = []  # sizes freed with their version and not yet subtracted
        self._generation = 1
        self._young: dict[int, ref[Forms]] = {}
        self._old: dict[int, ref[Forms]] = {}

    @property
    def bytes(self) -> int:
        freed = self._freed_sizes
        while freed:
            self._bytes -= freed.pop()
        return self._bytes

    def get(self, version: Version, form: Hashable) -> Any:
        """Return a form of a version, or None."""
        forms = version.forms
        if forms is None:
            return None
        if forms.generation != self._generation and forms:
            self._renew(forms)
        return forms.get(form)

    def each(self, versions: Iterable[Version], form: Hashable) -> Iterator[tuple[Version, Any]]:
        """Yield each version with its form, or None."""
        for version in versions:
            forms = version.forms
            if forms is None:
                yield version, None
            else:
                if forms.generation != self._generation and forms:
                    self._renew(forms)
                yield version, forms.get(form)

    def keep(self, version: Version, form: Hashable, value: Any, size: int) -> None:
        """Cache an immutable value derived from a version's content; `size` is its memory in
        bytes."""
        if size > self.limit // _LARGEST_SHARE:
            return
        forms = version.forms
        if forms is None:
            forms = version.forms = Forms(self)
        if form in forms:
            return
        if not forms:
            size += _HOLDER_BYTES
        if forms.generation != self._generation:
            self._renew(forms)
        forms[form] = value
        forms.size += size
        self._bytes += size
        FORMS_MADE.add()
        if self._bytes > self.limit:
            self._evict()

    def _renew(self, forms: Forms) -> None:
        """Move forms to the young generation."""
        self._old.pop(id(forms), None)
        self._young[id(forms)] = ref(forms)
        forms.generation = self._generation

    def _evict(self) -> None:
        while self.bytes > self.limit:
            if not self._old:
                if not self._young:
                    return
                self._old, self._young = self._young, {}
                self._generation += 1
            forms = self._old.popitem()[1]()
            if forms is not None:
                self._bytes -= forms.size
                FORMS_DROPPED.add(len(forms))
                forms.clear()
                forms.size = forms.generation = 0

    def release(self, forms: Forms) -> None:
        """Account for forms whose version was freed. Called from `__del__`: in any thread, at any
        point of the program."""
        self._old.pop(id(forms), None)
        self._young.pop(id(forms), None)
        if forms.size:
            self._freed_sizes.append(forms.size)


FORMS = DerivedCache()
KEPT_FORMS_BYTES.read = lambda: {(): FORMS.bytes}
