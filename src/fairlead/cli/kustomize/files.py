"""Reads the files of a kustomization: from its own folder only, and of bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.codec import yaml_reader

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
MAX_FOLDERS = 2000
_SEPARATOR = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_REMOTE = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://|git::|[\w.-]+@[\w.-]+:|(?:www\.)?(?:github|gitlab|bitbucket)\.\w+[:/])"
    r"|.*(?:\?ref=|\.git(?:/|$|\?)|_git/)",
    re.IGNORECASE,
)

_BLANK = object()  # a field without a value, as opposed to null
_WORDS = {**yaml_reader.CORE_WORDS, "": _BLANK}

Blanks = list[tuple[dict[str, Any], str]]


def take_blanks(value: Any) -> Blanks:
    """Replace fields without a value by null; return the objects that hold them, and their names.
    A merge drops them, and keeps fields that are null."""
    found: Blanks = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        entries = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, item in list(entries):
            if item is _BLANK:
                holder[key] = None
                if isinstance(holder, dict):
                    found.append((holder, str(key)))
            elif isinstance(item, (dict, list)):
                waiting.append(item)
    return found


class Budget:
    """What a whole build may still read."""

    def __init__(self) -> None:
        self._bytes = MAX_TOTAL_BYTES
        self._folders = MAX_FOLDERS

    def read(self, size: int) -> None:
        self._bytes -= size
        if self._bytes < 0:
            raise KustomizeError(f"the files have more than {MAX_TOTAL_BYTES} bytes together")

    def enter(self) -> None:
        self._folders -= 1
        if self._folders < 0:
            raise KustomizeError(f"more than {MAX_FOLDERS} kustomizations")


class Folder:
    """The folder of a kustomization. Its files are read from here and below; links that lead out of
    it are refused."""

    def __init__(self, path: Path, budget: Budget, above: Folder | None = None) -> None:
        self.path = path
        self.above = above  # the kustomization that named this one
        self._budget = budget
        budget.enter()

    def folder(self, name: str) -> Folder:
        """The folder of a base or component; raises KustomizeError."""
        refuse_remote(name)
        if not name:
            raise KustomizeError(f"{self.path}: a path is empty")
        if Path(name).is_absolute():
            raise KustomizeError(f"{self.path}: {name} is absolute: name it from this folder")
        path = _resolved(self.path / name)
        if not path.is_dir():
            raise KustomizeError(f"{self.path}: {name} is neither a file nor a folder")
        here: Folder | None = self
        while here is not None:
            if here.path.is_relative_to(path):
                raise KustomizeError(
                    f"{self.path}: {name} is a cycle: it contains {here.path}, which uses it"
                )
            here = here.above
        return Folder(path, self._budget, self)

    def has_file(self, name: str) -> bool:
        return not _REMOTE.match(name) and bool(name) and (self.path / name).is_file()

    def read(self, name: str) -> bytes:
        """The content of a file; raises KustomizeError."""
        refuse_remote(name)
        path = _resolved(self.path / name)
        if not path.is_relative_to(self.path):
            raise KustomizeError(
                f"{self.path}: {name} is outside of this folder; only bases may be elsewhere"
            )
        try:
            with path.open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise KustomizeError(f"{path}: {error.strerror or error}") from None
        if len(content) > MAX_FILE_BYTES:
            raise KustomizeError(f"{path} has more than {MAX_FILE_BYTES} bytes")
        self._budget.read(len(content))
        return content

    def kustomization(self) -> tuple[str, bytes]:
        """The name and content of the kustomization file; raises KustomizeError."""
        found = [name for name in NAMES if (self.path / name).is_file()]
        if not found:
            raise KustomizeError(f"{self.path} has no {', '.join(NAMES[:-1])} or {NAMES[-1]}")
        if len(found) > 1:
            raise KustomizeError(f"{self.path} has several of {', '.join(found)}: keep one")
        return found[0], self.read(found[0])


def refuse_remote(name: str) -> None:
    """Raises KustomizeError for an address."""
    if _REMOTE.match(name):
        raise KustomizeError(
            f"{name} is remote, and only local files are read: fetch it and name its folder"
        )


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise KustomizeError(f"{path}: {error}") from None


def one_document(content: bytes, where: str) -> Any:
    """The first YAML document of a file, with `yes` and `on` as true."""
    try:
        return yaml_reader.load(content)[0]
    except (yaml_reader.YamlError, UnicodeError) as error:
        raise KustomizeError(f"{where}: {error}") from None


def objects(content: bytes | str, where: str) -> list[dict[str, Any]]:
    """The objects of a file of resources or patches, with the items of lists in place of the
    lists; raises KustomizeError."""
    found: list[dict[str, Any]] = []
    waiting = list(documents(content, where))
    while waiting:
        value = waiting.pop(0)
        if value is None or value is _BLANK or value == {}:
            continue
        if not isinstance(value, dict):
            raise KustomizeError(f"{where}: a document is not an object")
        if not value.get("kind"):
            raise KustomizeError(f"{where}: an object has no kind")
        kind, items = str(value["kind"]), value.get("items")
        if kind.endswith("List") and "items" in value:
            items = None if items is _BLANK else items
            if items is not None and not isinstance(items, list):
                raise KustomizeError(f"{where}: the items of {kind} are no list")
            waiting += items or []
            continue
        metadata = value.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name"):
            raise KustomizeError(f"{where}: an object of kind {kind} has no metadata.name")
        found.append(value)
    return found


def documents(content: bytes | str, where: str) -> Iterator[Any]:
    """The YAML documents of a text. Only `true` and `false` are booleans in it: `yes` and `on` are
    texts, unlike in files that are sent as they are."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        for part in _SEPARATOR.split(text):
            value, repeated = yaml_reader.load(part.encode(), words=_WORDS)
            if repeated:
                raise KustomizeError(f"{where}: {repeated[0]}")
            yield value
    except (yaml_reader.YamlError, UnicodeError) as error:
        raise KustomizeError(f"{where}: {error}") from None
