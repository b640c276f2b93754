"""`tar`, as `kubectl cp` uses it: to and from the standard streams."""

from __future__ import annotations

import io
import posixpath
import tarfile

from fairlead.controllers.simulation.runtime.files import MAX_BYTES, MAX_FILES, FileError
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Write,
    error,
    read_all,
)

_MAX_ARCHIVE = MAX_BYTES + MAX_FILES * 1024
_CHUNK = 32 * 1024
_FAILED = 2


def tar(process: Process) -> Program:
    """`tar cf - PATH...`, `tar xf - -C DIRECTORY` and their variants."""
    flags, names, directory = _parsed(process)
    if "c" in flags:
        return (yield from _create(process, names, directory))
    if "x" in flags:
        return (yield from _extract(process, directory))
    yield error("tar: must specify one of c, x\n")
    return 1


def _parsed(process: Process) -> tuple[str, list[str], str]:
    """The letters of the flags, the names, and the directory of `-C`."""
    flags, names, directory = "", [], process.directory
    words = list(process.arguments[1:])
    if words and not words[0].startswith("-"):
        words[0] = f"-{words[0]}"  # the old style: `tar cf -`
    while words:
        word = words.pop(0)
        if word in ("-C", "--directory") and words:
            directory = process.path(words.pop(0))
        elif word.startswith("-") and len(word) > 1:
            flags += "" if word.startswith("--") else word[1:]
            if word.endswith("f") and words:
                words.pop(0)  # an archive, always "-"
        else:
            names.append(word)
    return flags, names, directory


def _create(process: Process, names: list[str], directory: str) -> Program:
    buffer = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in names:
            path = process.files.absolute(name, directory)
            if name.startswith("/"):
                yield error("tar: Removing leading '/' from member names\n")
            try:
                for inner, entry in process.files.walk(path):
                    shown = posixpath.normpath(name.lstrip("/") + inner[len(path) :])
                    member = tarfile.TarInfo(shown)
                    member.mode = entry.mode
                    member.mtime = int(process.time())
                    if entry.data is None:
                        member.type = tarfile.DIRTYPE
                        archive.addfile(member)
                    else:
                        member.size = len(entry.data)
                        archive.addfile(member, io.BytesIO(entry.data))
            except FileError as failed:
                yield error(f"tar: {name}: {failed.reason}\n")
                code = 1
    data = buffer.getvalue()
    for at in range(0, len(data), _CHUNK):
        yield Write(STDOUT, data[at : at + _CHUNK])
    return code


def _extract(process: Process, directory: str) -> Program:
    data = yield from read_all(_MAX_ARCHIVE)
    files = process.files
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as archive:
            for count, member in enumerate(archive):
                if count > MAX_FILES:
                    raise FileError(member.name, "No space left on device")
                path = files.absolute(member.name.lstrip("/"), directory)
                if not f"{path}/".startswith(f"{directory.rstrip('/')}/"):
                    raise FileError(member.name, "Not within the directory")
                if member.isdir():
                    files.make_directory(path, with_parents=True)
                elif member.isreg():
                    files.make_directory(posixpath.dirname(path), with_parents=True)
                    content = archive.extractfile(member)
                    assert content is not None
                    files.write(path, content.read(MAX_BYTES + 1), mode=member.mode & 0o777)
    except FileError as failed:
        yield error(f"tar: {failed}\n")
        return _FAILED
    except (tarfile.TarError, EOFError, OSError) as failed:
        yield error(f"tar: {failed}\n")
        return 1
    return 0
