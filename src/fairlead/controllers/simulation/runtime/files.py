"""The files of a simulated container: a tree in memory, with volumes mounted in it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

MAX_BYTES = 16 * 1024 * 1024  # of all files of one container or volume
MAX_FILES = 10_000
_MAX_PATH = 4096


class FileError(OSError):
    """A file operation failed; the text is that of a shell."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class Entry(NamedTuple):
    """A file, or a directory if `data` is None."""

    data: bytes | None
    mode: int = 0o644


class Volume:
    """The files of one volume, or of a container's own file system. Keys are absolute paths within
    it; the root has none."""

    def __init__(self, *, is_read_only: bool = False) -> None:
        self.entries: dict[str, Entry] = {}
        self.is_read_only = is_read_only
        self.size = 0

    def put(self, path: str, entry: Entry) -> None:
        """Raises FileError if the volume is full."""
        old = self.entries.get(path)
        size = self.size + len(entry.data or b"") - len((old and old.data) or b"")
        if size > MAX_BYTES or (old is None and len(self.entries) >= MAX_FILES):
            raise FileError(path, "No space left on device")
        self.entries[path] = entry
        self.size = size

    def remove(self, path: str) -> None:
        self.size -= len(self.entries.pop(path).data or b"")


class LiveVolume(Volume):
    """A volume whose files follow other objects: a ConfigMap, a Secret, fields of the pod. `read`
    returns them by path."""

    def __init__(self, read: Callable[[], Mapping[str, Entry]]) -> None:
        super().__init__(is_read_only=True)
        self._read = read

    def refresh(self) -> None:
        self.entries = dict(self._read())
        for path in list(self.entries):
            for parent in _parents(path):
                self.entries.setdefault(parent, Entry(None, 0o755))


def _parents(path: str) -> Iterator[str]:
    while (path := posixpath.dirname(path)) != "/":
        yield path


class Mount(NamedTuple):
    """A volume at a path. `inside` is the part of the volume that is mounted: a directory, or one
    file."""

    path: str
    volume: Volume
    inside: str = "/"
    is_read_only: bool = False


class Files:
    """The file system of a container."""

    def __init__(self, mounts: list[Mount]) -> None:
        self.root = Volume()
        # The longest path first: a mount hides what lies below it.
        self._mounts = sorted(mounts, key=lambda mount: len(mount.path), reverse=True)
        for name in ("/tmp", "/root", "/etc", "/var", "/bin", "/usr", "/dev", "/proc", "/home"):
            self.root.put(name, Entry(None, 0o755))
        for mount in mounts:
            for parent in _parents(mount.path):
                self.root.entries.setdefault(parent, Entry(None, 0o755))

    def absolute(self, name: str, directory: str = "/") -> str:
        if len(name) > _MAX_PATH:
            raise FileError(name[:40], "File name too long")
        path = posixpath.normpath(posixpath.join(directory, name))
        return "/" + path.lstrip("/")

    def _resolve(self, path: str) -> tuple[Volume, str, bool]:
        """The volume of a path, the path within it, and whether it may not be written."""
        for mount in self._mounts:
            if path == mount.path or path.startswith(mount.path.rstrip("/") + "/"):
                if isinstance(mount.volume, LiveVolume):
                    mount.volume.refresh()
                rest = path[len(mount.path.rstrip("/")) :]
                inside = posixpath.normpath(posixpath.join(mount.inside, rest.lstrip("/")))
                read_only = mount.is_read_only or mount.volume.is_read_only
                return mount.volume, inside, read_only
        return self.root, path, False

    def entry(self, path: str) -> Entry | None:
        volume, inside, _ = self._resolve(path)
        return Entry(None, 0o755) if inside == "/" else volume.entries.get(inside)

    def read(self, path: str) -> bytes:
        """Raises FileError."""
        if path == "/dev/null":
            return b""
        entry = self.entry(path)
        if entry is None:
            raise FileError(path, "No such file or directory")
        if entry.data is None:
            raise FileError(path, "Is a directory")
        return entry.data

    def write(self, path: str, data: bytes, *, append: bool = False, mode: int = 0o644) -> None:
        """Raises FileError."""
        if path == "/dev/null":
            return
        volume, inside = self._writable(path)
        old = self.entry(path)
        if old is not None and old.data is None:
            raise FileError(path, "Is a directory")
        self._check_parent(path)
        if append and old is not None:
            data, mode = (old.data or b"") + data, old.mode
        volume.put(inside, Entry(data, mode))

    def make_directory(self, path: str, *, with_parents: bool = False) -> None:
        """Raises FileError."""
        if with_parents:
            for parent in reversed([path, *_parents(path)]):
                old = self.entry(parent)
                if old is None:
                    self.make_directory(parent)
                elif old.data is not None:
                    raise FileError(parent, "Not a directory")
            return
        if self.entry(path) is not None:
            raise FileError(path, "File exists")
        volume, inside = self._writable(path)
        self._check_parent(path)
        volume.put(inside, Entry(None, 0o755))

    def remove(self, path: str) -> None:
        """Remove a file, or a directory with all it holds. Raises FileError."""
        volume, inside = self._writable(path)
        if inside == "/":
            raise FileError(path, "Device or resource busy")
        if inside not in volume.entries:
            raise FileError(path, "No such file or directory")
        for name in [name for name in volume.entries if _is_within(name, inside)]:
            volume.remove(name)

    def list(self, path: str) -> list[str]:
        """The names in a directory, sorted. Raises FileError."""
        entry = self.entry(path)
        if entry is None:
            raise FileError(path, "No such file or directory")
        if entry.data is not None:
            raise FileError(path, "Not a directory")
        volume, inside, _ = self._resolve(path)
        names = {posixpath.basename(name) for name in volume.entries if _parent(name) == inside}
        names |= {
            posixpath.basename(each.path) for each in self._mounts if _parent(each.path) == path
        }
        return sorted(names)

    def walk(self, path: str) -> Iterator[tuple[str, Entry]]:
        """A file, or a directory with all that is below it. Raises FileError."""
        entry = self.entry(path)
        if entry is None:
            raise FileError(path, "No such file or directory")
        yield path, entry
        if entry.data is None:
            for name in self.list(path):
                yield from self.walk(posixpath.join(path, name))

    def _writable(self, path: str) -> tuple[Volume, str]:
        volume, inside, is_read_only = self._resolve(path)
        if is_read_only:
            raise FileError(path, "Read-only file system")
        return volume, inside

    def _check_parent(self, path: str) -> None:
        parent = self.entry(_parent(path))
        if parent is None:
            raise FileError(path, "No such file or directory")
        if parent.data is not None:
            raise FileError(path, "Not a directory")


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
