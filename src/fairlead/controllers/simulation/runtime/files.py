"""The files of a simulated container: a tree in memory, with volumes mounted in it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, NamedTuple

from fairlead.controllers.simulation.runtime.memory import Held, Memory

MAX_BYTES = 16 * 1024 * 1024  # of all files of one container or volume, with their paths
MAX_FILES = 10_000
_MAX_PATH = 4096
_MAX_LINKS = 40  # that one path leads through
_MAX_NAMES = 2_500  # that are looked up for one path
# A live volume that is read within so many seconds is always fresh; others are read again after
# so many times as long.
_FAST, _PAUSES = 0.005, 20


class FileError(OSError):
    """A file operation failed; the text is that of a shell."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class Entry(NamedTuple):
    """A file, a directory if `data` is None, or a symbolic link to the path in `data`."""

    data: bytes | None
    mode: int = 0o644
    user: int = 0
    group: int = 0
    is_link: bool = False


class VolumeRoot(NamedTuple):
    """The root directory of a volume. `group` owns what is written there, if it is not None."""

    mode: int = 0o755
    group: int | None = None
    file_system: str = "ext4"
    size: int = 0  # bytes, if it is limited


PLAIN = VolumeRoot()


class Volume:
    """The files of one volume, or of a container's own file system. Keys are absolute paths within
    it; the root has none."""

    def __init__(
        self,
        root: VolumeRoot = PLAIN,
        *,
        is_read_only: bool = False,
        memory: Memory | None = None,
    ) -> None:
        self.entries: dict[str, Entry] = {}
        self.links = 0  # of the entries
        self.root = root
        self.is_read_only = is_read_only
        self._held = Held(MAX_BYTES, memory or Memory())

    @property
    def size(self) -> int:
        return self._held.size

    def entry(self, path: str) -> Entry | None:
        if path == "/":
            return Entry(None, self.root.mode, 0, self.root.group or 0)
        return self.entries.get(path)

    def put(self, path: str, entry: Entry) -> None:
        """Raises FileError if the volume is full."""
        old = self.entries.get(path)
        size = len(entry.data or b"") - (len(old.data or b"") if old else -len(path))
        if (old is None and len(self.entries) >= MAX_FILES) or not self._held.grow(size):
            raise FileError(path, "No space left on device")
        self.links += entry.is_link - (old is not None and old.is_link)
        self.entries[path] = entry

    def make_directories(self, path: str) -> None:
        """Make the directory that a mount shows, unless there is something."""
        if path != "/":
            for each in (path, *_parents(path)):
                if each not in self.entries:
                    self.put(each, Entry(None, self.root.mode, 0, self.root.group or 0))

    def remove(self, path: str) -> None:
        entry = self.entries.pop(path)
        self.links -= entry.is_link
        self._held.grow(-len(path) - len(entry.data or b""))


class LiveVolume(Volume):
    """A volume whose files follow other objects: a ConfigMap, a Secret, fields of the pod. `read`
    returns them by path."""

    def __init__(
        self,
        read: Callable[[], Mapping[str, Entry]],
        root: VolumeRoot = PLAIN,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(root, is_read_only=True, memory=memory)
        self._read = read
        self._fresh_until = 0.0

    def refresh(self) -> None:
        """Read the files again, unless that took long a short time ago. Raises FileError."""
        began = monotonic()
        if began < self._fresh_until:
            return
        self._refresh()
        ended = monotonic()
        self._fresh_until = ended + (ended - began - _FAST) * _PAUSES

    def _refresh(self) -> None:
        entries = dict(self._read())
        size = sum(len(path) + len(entry.data or b"") for path, entry in entries.items())
        if not self._held.grow(size - self._held.size):
            raise FileError("/", "Cannot allocate memory")
        self.entries = entries
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
    """The file system of a container, which takes from the memory of its namespace."""

    def __init__(self, mounts: list[Mount], memory: Memory | None = None) -> None:
        self.memory = memory or Memory()
        self.root = Volume(memory=self.memory)
        self.is_read_only = False  # except for mounts and devices
        self.owner = (0, 0)  # the user and the group of new files
        self._mounts = {mount.path: mount for mount in reversed(mounts)}  # the first counts
        self._deepest = max((path.count("/") for path in self._mounts), default=0)
        for name in ("/tmp", "/root", "/etc", "/var", "/bin", "/usr", "/dev", "/proc", "/home"):
            self.root.put(name, Entry(None, 0o755))
        for mount in mounts:
            with suppress(FileError):  # full: the mount is there all the same
                self.root.make_directories(posixpath.dirname(mount.path))

    def absolute(self, name: str, directory: str = "/") -> str:
        if len(name) > _MAX_PATH:
            raise FileError(name[:40], "File name too long")
        path = posixpath.normpath(posixpath.join(directory, name))
        return "/" + path.lstrip("/")

    def _resolve(self, path: str) -> tuple[Volume, str, bool]:
        """The volume of a path, the path within it, and whether it may not be written."""
        place = self._place(path)
        if isinstance(place[0], LiveVolume):
            place[0].refresh()
        return place

    def _place(self, path: str) -> tuple[Volume, str, bool]:
        """The same; what follows other objects is as it was."""
        mount = self._mount_at(path)
        if mount is None:
            return self.root, path, self.is_read_only and not path.startswith("/dev/")
        rest = path[len(mount.path.rstrip("/")) :]
        inside = posixpath.normpath(posixpath.join(mount.inside, rest.lstrip("/")))
        return mount.volume, inside, mount.is_read_only or mount.volume.is_read_only

    def _mount_at(self, path: str) -> Mount | None:
        """The mount with the longest path that a path is at or below: it hides what lies there."""
        found = None
        for mount in self._mounts_on(path):
            found = mount
        return found

    def _mounts_on(self, path: str) -> Iterator[Mount]:
        """The mounts that a path leads through, from the root on."""
        if "/" in self._mounts:
            yield self._mounts["/"]
        end = 0
        for _ in range(self._deepest):
            end = path.find("/", end + 1)
            mount = self._mounts.get(path if end < 0 else path[:end])
            if mount is not None:
                yield mount
            if end < 0:
                break

    def real(self, path: str, *, follows: bool = True) -> str:
        """The path without symbolic links; `follows`: also if the last name is one. Raises
        FileError."""
        passed = self._mounts_on(path)
        if not self.root.links and not any(mount.volume.links for mount in passed):
            return path
        names, done = path.split("/")[::-1], "/"
        looked_up = links = 0
        while names:
            name = names.pop()
            if name in ("", ".", ".."):
                done = posixpath.dirname(done) if name == ".." else done
                continue
            looked_up += 1
            done = posixpath.join(done, name)
            volume, inside, _ = self._place(done)
            entry = volume.entry(inside)
            if entry is None or not entry.is_link or not (names or follows):
                continue
            links += 1
            if links > _MAX_LINKS or looked_up > _MAX_NAMES:
                raise FileError(path, "Too many levels of symbolic links")
            target = (entry.data or b"").decode(errors="surrogateescape")
            done = "/" if target.startswith("/") else posixpath.dirname(done)
            names += target.split("/")[::-1]
        return done

    def entry(self, path: str, *, follows: bool = True) -> Entry | None:
        """What is at a path; `follows`: where it leads to, if it is a symbolic link."""
        try:
            volume, inside, _ = self._resolve(self.real(path, follows=follows))
        except FileError:  # its links lead nowhere
            return None
        return volume.entry(inside)

    def mounted(self) -> Iterator[tuple[str, VolumeRoot]]:
        """The paths of mounts and what is mounted."""
        yield "/", VolumeRoot(file_system="overlay")
        for path in sorted(self._mounts, key=len):
            yield path, self._mounts[path].volume.root

    def is_mounted(self, path: str) -> bool:
        """Whether a volume is mounted at a path."""
        return path in self._mounts

    def file_system(self, path: str) -> str:
        """The kind of the file system of a path. Raises FileError."""
        return self._resolve(self.real(path))[0].root.file_system

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
        path = self.real(path)
        volume, inside = self._writable(path)
        old = self.entry(path)
        if old is not None and old.data is None:
            raise FileError(path, "Is a directory")
        self._check_parent(path)
        if old is not None:
            data = (old.data or b"") + data if append else data
            volume.put(inside, old._replace(data=data))
        else:
            volume.put(inside, self._new(volume, data, mode))

    def _new(self, volume: Volume, data: bytes | None, mode: int) -> Entry:
        user, group = self.owner
        return Entry(data, mode, user, group if volume.root.group is None else volume.root.group)

    def change(self, path: str, **fields: Any) -> None:
        """Change the mode or the owner of a file. Raises FileError."""
        path = self.real(path)
        entry = self.entry(path)
        if entry is None:
            raise FileError(path, "No such file or directory")
        volume, inside = self._writable(path)
        if inside == "/":
            mode = fields.get("mode", volume.root.mode)
            volume.root = volume.root._replace(mode=mode, group=fields.get("group", entry.group))
        else:
            volume.put(inside, entry._replace(**fields))

    def make_directory(self, path: str, *, with_parents: bool = False) -> None:
        """Raises FileError."""
        if with_parents:
            missing = []
            for parent in (path, *_parents(path)):
                old = self.entry(parent)
                if old is not None and old.data is not None:
                    raise FileError(parent, "Not a directory")
                if old is not None:
                    break
                missing.append(parent)
            for parent in reversed(missing):
                self.make_directory(parent)
            return
        self._make(path, None, 0o755)

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link. Raises FileError."""
        if not target or len(target) > _MAX_PATH:
            raise FileError(path, "File name too long" if target else "No such file or directory")
        self._make(path, target.encode(errors="surrogateescape"), 0o777, is_link=True)

    def _make(self, path: str, data: bytes | None, mode: int, *, is_link: bool = False) -> None:
        """Make what is not there yet. Raises FileError."""
        path = self.real(path, follows=False)
        if self.entry(path, follows=False) is not None:
            raise FileError(path, "File exists")
        volume, inside = self._writable(path)
        self._check_parent(path)
        volume.put(inside, self._new(volume, data, mode)._replace(is_link=is_link))

    def remove(self, path: str) -> None:
        """Remove a file, a symbolic link, or a directory with all it holds. Raises FileError."""
        path = self.real(path, follows=False)
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
        path = self.real(path)
        volume, inside, _ = self._resolve(path)
        names = {posixpath.basename(name) for name in volume.entries if _parent(name) == inside}
        names |= {posixpath.basename(each) for each in self._mounts if _parent(each) == path}
        return sorted(names)

    def walk(self, path: str) -> Iterator[tuple[str, Entry]]:
        """A file, or a directory with all that is below it; links are not followed. Raises
        FileError."""
        first = self.real(path, follows=False)
        if self.entry(first, follows=False) is None:
            raise FileError(path, "No such file or directory")
        children = _Children(self._mounts)
        waiting = [first]
        while waiting:
            each = waiting.pop()
            volume, inside, _ = self._place(each)
            names = children.of(volume, each, inside)
            entry = Entry(None, 0o755) if inside == "/" else volume.entries.get(inside)
            if entry is None:
                continue  # removed meanwhile
            yield path + each[len(first) :], entry
            if entry.data is None:
                waiting += (posixpath.join(each, name) for name in sorted(names, reverse=True))

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


class _Children:
    """The names in the directories of volumes, as they are when each volume is first asked for."""

    def __init__(self, mounts: Iterable[str]) -> None:
        self._mounted = _by_parent(mounts)
        self._by_volume: dict[Volume, dict[str, set[str]]] = {}

    def of(self, volume: Volume, path: str, inside: str) -> set[str]:
        names = self._by_volume.get(volume)
        if names is None:
            if isinstance(volume, LiveVolume):
                volume.refresh()
            names = self._by_volume[volume] = _by_parent(volume.entries)
        return names.get(inside, set()) | self._mounted.get(path, set())


def _by_parent(paths: Iterable[str]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for path in paths:
        parent, _, name = path.rpartition("/")
        if name:
            names.setdefault(parent or "/", set()).add(name)
    return names


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
