"""Programs that work on files: `ls`, `cp`, `rm`, `test` and others."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Generator, Iterable, Mapping

from fairlead.controllers.simulation.runtime.files import Entry, FileError, Files
from fairlead.controllers.simulation.runtime.links import put_link
from fairlead.controllers.simulation.runtime.options import Options
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Read,
    Step,
    Write,
    error,
    output,
)
from fairlead.controllers.simulation.runtime.system_programs import kind_of, rights

_LS = Options("a,all A,almost-all d,directory")
_MKDIR = Options("p,parents m,mode:")
_TOUCH = Options("c,no-create d,date: t: r,reference:")
_RM = Options("r,R,recursive f,force")
_COPY = Options("a,archive d P,no-dereference r,R,recursive t,target-directory: S,suffix:")
_TEE = Options("a,append")
_MODE = re.compile("[0-7]{1,4}")
_MAX_TESTED = 300  # words of `test`
_OF_IMAGES = ("/app/", "/bin/", "/etc/", "/lib/", "/opt/", "/sbin/", "/srv/", "/usr/", "/var/www/")


def _for_each(
    process: Process, names: Iterable[str], do: Callable[[str], None], *, quiet: bool = False
) -> Program:
    """Do something to files, and report those for which it fails."""
    code = 0
    for name in names:
        yield Step()
        try:
            do(process.path(name))
        except FileError as failed:
            if not quiet:
                yield error(f"{process.arguments[0]}: {name}: {failed.reason}\n")
                code = 1
    return code


def _ls(process: Process) -> Program:
    given = _LS.read(process.arguments[1:])
    shows_all, is_long = given.has("a", "A"), given.has("l")
    lists = not given.has("d")
    code = 0
    for name in given.operands or ["."]:
        yield Step()
        path = process.path(name)
        try:
            entry = process.files.entry(path, follows=lists and not is_long)
            is_directory = entry is not None and entry.data is None and lists
            listed = process.files.list(path) if is_directory or entry is None else [name]
        except FileError as failed:
            yield error(f"ls: {name}: {failed.reason}\n")
            code = 1
            continue
        shown = [each for each in listed if shows_all or not each.startswith("..")]
        for each in shown:
            place = posixpath.join(path, each) if is_directory else path
            inner = process.files.entry(place, follows=False)
            yield output(_long(each, inner) if is_long and inner else f"{each}\n")
    return code


def _long(name: str, entry: Entry) -> str:
    kind = kind_of(entry)[0].replace("f", "-")
    if entry.is_link and entry.data is not None:
        name = f"{name} -> {entry.data.decode(errors='surrogateescape')}"
    user, group = ("root" if each == 0 else str(each) for each in (entry.user, entry.group))
    size = len(entry.data or b"")
    return f"{kind}{rights(entry.mode)}    1 {user:<8} {group:<8} {size:>9} Jan  1 00:00 {name}\n"


def _mkdir(process: Process) -> Program:
    given = _MKDIR.read(process.arguments[1:])
    mode = given.value("m")

    def make(path: str) -> None:
        process.files.make_directory(path, with_parents=given.has("p"))
        if _MODE.fullmatch(mode):
            process.files.change(path, mode=int(mode, 8))

    return (yield from _for_each(process, given.operands, make))


def _touch(process: Process) -> Program:
    given = _TOUCH.read(process.arguments[1:])

    def touch(path: str) -> None:
        if not given.has("c") or process.files.entry(path) is not None:
            process.files.write(path, b"", append=True)

    return (yield from _for_each(process, given.operands, touch))


def _rm(process: Process) -> Program:
    given = _RM.read(process.arguments[1:])

    def remove(path: str) -> None:
        entry = process.files.entry(path, follows=False)
        if entry is not None and entry.data is None and not given.has("r"):
            raise FileError(path, "is a directory")
        process.files.remove(path)

    return (yield from _for_each(process, given.operands, remove, quiet=given.has("f")))


def _is_of_image(files: Files, path: str) -> bool:
    """Whether only the image can have what is missing at a path: programs, libraries and settings
    are there, no volume is."""
    volumes = (place for place, _ in files.mounted() if place != "/")
    return path.startswith(_OF_IMAGES) and not any(
        path == place or path.startswith(f"{place}/") for place in volumes
    )


def _put_of_image(files: Files, goal: str, *, is_directory: bool) -> None:
    """Make an empty copy. Raises FileError."""
    if is_directory:
        files.make_directory(goal, with_parents=True)
    elif "*" not in goal:  # what a pattern matches is not known
        files.write(goal, b"", mode=0o755)


def _copy(process: Process) -> Program:
    """`cp` and `mv`. A copy of what only the image has is empty."""
    given = _COPY.read(process.arguments[1:])
    names = given.operands + given.values("t")[-1:]
    moves = posixpath.basename(process.arguments[0]) == "mv"
    is_recursive = given.has("a", "r")
    keeps_links = moves or is_recursive or given.has("d", "P")
    if len(names) < 2:
        yield error(f"{process.arguments[0]}: missing operand\n")
        return 1
    *sources, target = names
    files, place = process.files, process.path(target)

    def copy(source: str) -> Generator[Step, bytes, None]:
        into = files.entry(place)
        inside = into is not None and into.data is None
        base = posixpath.join(place, posixpath.basename(source)) if inside else place
        copied = []
        yield Step()
        if not moves and files.entry(source) is None and _is_of_image(files, source):
            _put_of_image(files, base, is_directory=is_recursive)
            return
        first = source if keeps_links else files.real(source)
        for each in files.walk(first):  # before anything is written: the goal may be within
            copied.append(each)
            yield Step()
        for path, entry in copied:
            yield Step()
            goal = base + path[len(first) :]
            if entry.data is None:
                files.make_directory(goal, with_parents=True)
            elif entry.is_link:
                put_link(files, goal, entry.data)
            else:
                files.write(goal, entry.data, mode=entry.mode)
        if moves:
            files.remove(source)

    code = 0
    for name in sources:
        try:
            yield from copy(process.path(name))
        except FileError as failed:
            yield error(f"{process.arguments[0]}: {name}: {failed.reason}\n")
            code = 1
    return code


def _tee(process: Process) -> Program:
    given = _TEE.read(process.arguments[1:])
    is_first, code = True, 0
    while True:
        data = yield Read()
        for name in given.operands:
            yield Step()
            append = given.has("a") or not is_first
            try:
                process.files.write(process.path(name), data, append=append)
            except FileError as failed:
                yield error(f"tee: {name}: {failed.reason}\n")
                code = 1
        if not data:
            return code
        is_first = False
        yield Write(STDOUT, data)


def _test(process: Process) -> Program:
    """`test`, `[` and `[[`."""
    words = process.arguments[1:]
    name = posixpath.basename(process.arguments[0])
    if name != "test":
        end = name.replace("[", "]")
        if words[-1:] != [end]:
            yield error(f"sh: {name}: missing {end}\n")
            return 2
        words = words[:-1]
    yield Step()
    try:
        return int(not _holds(process, words))
    except ValueError as failed:
        yield error(f"sh: {failed}\n")
        return 2


def _holds(process: Process, words: list[str]) -> bool:
    """Raises ValueError."""
    if len(words) > _MAX_TESTED:
        raise ValueError("test: too many arguments")
    for operator, combine in (("-o", any), ("-a", all)):
        if operator in words[1:-1]:
            at = words.index(operator, 1)
            return combine((_holds(process, words[:at]), _holds(process, words[at + 1 :])))
    if words[:1] == ["!"]:
        return not _holds(process, words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return _unary(process, *words)
    if len(words) == 3 and words[1] in _COMPARISONS:
        return _COMPARISONS[words[1]](words[0], words[2])
    raise ValueError(f"{words[1]}: unknown operand")


def _unary(process: Process, operator: str, operand: str) -> bool:
    if operator in "-z-n" and len(operator) == 2:
        return (operator == "-z") == (operand == "")
    if operator in ("-L", "-h"):
        link = process.files.entry(process.path(operand), follows=False)
        return link is not None and link.is_link
    entry = process.files.entry(process.path(operand))
    if operator == "-f":
        return entry is not None and entry.data is not None
    if operator == "-d":
        return entry is not None and entry.data is None
    if operator == "-s":
        return entry is not None and bool(entry.data)
    if operator in ("-e", "-r", "-w", "-x"):
        return entry is not None
    raise ValueError(f"{operator}: unknown operand")


def _integers(compare: Callable[[int, int], bool]) -> Callable[[str, str], bool]:
    def compared(left: str, right: str) -> bool:
        for text in (left, right):
            if not re.fullmatch(r"\s*[-+]?\d{1,18}\s*", text):
                raise ValueError(f"{text}: bad number")
        return compare(int(left), int(right))

    return compared


_COMPARISONS: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "-eq": _integers(lambda a, b: a == b),
    "-ne": _integers(lambda a, b: a != b),
    "-lt": _integers(lambda a, b: a < b),
    "-le": _integers(lambda a, b: a <= b),
    "-gt": _integers(lambda a, b: a > b),
    "-ge": _integers(lambda a, b: a >= b),
}


FILE_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "[": _test,
    "[[": _test,
    "cp": _copy,
    "ls": _ls,
    "mkdir": _mkdir,
    "mv": _copy,
    "rm": _rm,
    "tee": _tee,
    "test": _test,
    "touch": _touch,
}
