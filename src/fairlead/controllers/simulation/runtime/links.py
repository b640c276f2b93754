"""Programs for links: `ln`, `readlink` and `realpath`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

from fairlead.controllers.simulation.runtime.files import FileError, Files
from fairlead.controllers.simulation.runtime.options import Options
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Step,
    error,
    output,
)

_LN = Options("s,symbolic f,force n,no-dereference")
_READLINK = Options("f,canonicalize e,canonicalize-existing m,canonicalize-missing")
_REALPATH = Options()


def put_link(files: Files, path: str, target: bytes) -> None:
    """Make a symbolic link, in place of a file or a link. Raises FileError."""
    old = files.entry(path, follows=False)
    if old is not None and old.data is not None:
        files.remove(path)
    files.link(path, target.decode(errors="surrogateescape"))


def _ln(process: Process) -> Program:
    """`ln [-s] [-f] [-n] TARGET... [NAME | DIRECTORY]`; a hard link is a copy."""
    given = _LN.read(process.arguments[1:])
    names = given.operands
    if not names:
        yield error("ln: missing file operand\n")
        return 1
    *targets, last = names if len(names) > 1 else (names[0], ".")
    place, files = process.path(last), process.files
    into = files.entry(place, follows=not given.has("n"))
    code = 0
    for target in targets:
        yield Step()
        path = place
        if into is not None and into.data is None:
            path = posixpath.join(place, posixpath.basename(target.rstrip("/")))
        try:
            old = files.entry(path, follows=False)
            if given.has("f") and old is not None and old.data is not None:
                files.remove(path)
            if given.has("s"):
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
    given = _READLINK.read(process.arguments[1:])
    if given.has("e", "f", "m"):
        return (yield from _realpath(process))
    code = 0
    for name in given.operands:
        yield Step()
        entry = process.files.entry(process.path(name), follows=False)
        if entry is not None and entry.is_link and entry.data is not None:
            yield output(entry.data.decode(errors="surrogateescape") + "\n")
        else:
            code = 1
    return code


def _realpath(process: Process) -> Program:
    code, files = 0, process.files
    for name in _REALPATH.read(process.arguments[1:]).operands:
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
