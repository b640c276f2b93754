"""Plugins: programs on the PATH called `fairlead-NAME`, or `kubectl-NAME`, which `fairlead NAME`
runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PREFIXES = ("fairlead-", "kubectl-")
_MAX_NAME = 200  # characters of a word: file systems take 255 for a name


class Plugin(NamedTuple):
    """A program of the PATH."""

    path: Path
    command: str  # what it is called as, such as `foo bar` for fairlead-foo-bar

    @property
    def is_executable(self) -> bool:
        return os.access(self.path, os.X_OK)


def run(words: Sequence[str]) -> None:
    """Become the plugin with the longest name that the words begin with; return if there is none.
    The rest of the words are its arguments."""
    names = []
    for word in words:
        if word.startswith("-") or "/" in word or not word:
            break
        names.append(word.replace("-", "_"))
    names = list(itertools.takewhile(lambda name: len(name) <= _MAX_NAME, names))
    for prefix in PREFIXES:
        for count in range(len(names), 0, -1):
            path = _found(f"{prefix}{'-'.join(names[:count])}")
            if path is not None:
                os.execv(path, [str(path), *words[count:]])


def _found(name: str) -> Path | None:
    return next(
        (
            folder / name
            for folder in _folders()
            if (folder / name).is_file() and os.access(folder / name, os.X_OK)
        ),
        None,
    )


def all_plugins() -> Iterator[Plugin]:
    """The plugins in the order of the PATH."""
    for folder in _folders():
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
            path = folder / name
            if prefix and path.is_file():
                words = name.removeprefix(prefix).split("-")
                yield Plugin(path, " ".join(word.replace("_", "-") for word in words))


def _folders() -> list[Path]:
    names = os.environ.get("PATH", "").split(os.pathsep)
    return [Path(name) for name in dict.fromkeys(names) if name]
