"""The default class of a kind, marked by an annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.storage.version import Version


def default_names(annotations: tuple[str, ...]) -> Callable[[Iterable[Version]], list[str]]:
    """Returns a function that finds the classes marked by one of the annotations, newest first."""

    def work_out(entries: Iterable[Version]) -> list[str]:
        marked: list[tuple[str, str]] = []
        for entry in entries:
            metadata = entry.object()["metadata"]
            given = metadata.get("annotations") or {}
            if any(given.get(name) == "true" for name in annotations):
                marked.append((metadata["creationTimestamp"], entry.name))
        marked.sort(key=lambda pair: pair[1])
        marked.sort(key=lambda pair: pair[0], reverse=True)
        return [name for _, name in marked]

    return work_out
