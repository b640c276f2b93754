"""Programs for links: `ln`, `readlink` and `realpath`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from fairlead.controllers.simulation.runtime.files import FileError, Files
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Step,
    error,
    operands,
    output,
)


def put_link(files: Files, path: str, target: bytes) -> None:
    """Make a symbolic link, in place of a file or a link. Raises FileError."""
    old = files.entry(path, follows=False)
    if old is not None and old.data is not None:
        files.remove(path)
    files.link(path, target.decode(errors="surrogateescape"))


def _ln(process: Process) -> Program:
    """`ln [-s] [-f] [-n] TARGET... [NAME | DIRECTORY]`; a hard link is a copy."""
    flags, names = operands(process)
    if not names:
        yield error("ln: missing file operand\n")
        return 1
    *targets, last = names if len(names) > 1 else (names[0], ".")
    place, files = process.path(last), process.files
    into = files.entry(place, follows="n" not in flags)
    code = 0
    for target in targets:
        yield Step()
        path = place
        if into is not None and into.data is None:
            path = posixpath.join(place, posixpath.basename(target.rstrip("/")))
        try:
            old = files.entry(path, follows=False)
            if "f" in flags and old is not None and old.data is not None:
                files.remove(path)
            if "s" in flags:
                files.link(path, target)
            elif files.entry(path, follows=False) is not None:
                raise FileError(path, "File exists")
            else:
                files.write(path, files.read(process.path(target)))
        except FileError as failed:
            yield error(f"ln: {target}: {failed.reason}\n")
            code = 1
    return code


def _readlink(process: Process) -> Program:
    """`readlink [-f] FILE...`: where a link leads to, with `-f` to the end."""
    flags, names = operands(process)
    if any(flag in flags for flag in "efm"):
        return (yield from _realpath(process))
    code = 0
    for name in names:
        yield Step()
        entry = process.files.entry(process.path(name), follows=False)
        if entry is not None and entry.is_link and entry.data is not None:
            yield output(entry.data.decode(errors="surrogateescape") + "\n")
        else:
            code = 1
    return code


def _realpath(process: Process) -> Program:
    code, files = 0, process.files
    for name in operands(process)[1]:
        yield Step()
        try:
            path = files.real(process.path(name))
            if files.entry(posixpath.dirname(path)) is None:
                raise FileError(path, "No such file or directory")
            yield output(f"{path}\n")
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {name}: {failed.reason}\n")
            code = 1
    return code


LINK_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "ln": _ln,
    "readlink": _readlink,
    "realpath": _realpath,
}
