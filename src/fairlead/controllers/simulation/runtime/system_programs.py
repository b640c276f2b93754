"""Programs that show and change how files are kept, and what a system is set to."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from fairlead.base.digits import whole_number
from fairlead.controllers.simulation.runtime.expansion import matches
from fairlead.controllers.simulation.runtime.files import Entry, FileError
from fairlead.controllers.simulation.runtime.kernel_files import BOOT
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.process import (
    NOT_EXECUTABLE,
    STDOUT,
    Effect,
    Process,
    Program,
    Step,
    Wait,
    Write,
    error,
    output,
    read_all,
    start,
)

_BASENAME = Options("s,suffix: a,multiple")
_CHANGE = Options("R,recursive from: reference:")
_DIFF = Options("U,unified: C,context: I: x: L,label: n,bytes: i,ignore-initial:")
_RMDIR = Options()
_STAT = Options("c,format,printf: f,file-system")
_SYSCTL = Options("p,load:")
_TIMEOUT = Options("s,signal: k,kill-after:", leads=True)
_WHICH = Options("a,all")
_XARGS = Options("n,max-args: I: L: P,max-procs: d,delimiter: s:", leads=True)
_MAX_DATA = 256 * 1024
_FAILED_CALL = 123  # the exit code of `xargs`
_MAX_FORM = 1_000  # characters of a form of `stat`
_BLOCKS = 104857600  # of a file system, of 1 KiB each
_SIZE = re.compile(r"(\d{1,9})([kKMGwbc]?)")
_UNITS = {"": 1, "c": 1, "w": 2, "b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


def _stat(process: Process) -> Program:
    """`stat [-c FORM] FILE...`"""
    given = _STAT.read(process.arguments[1:])
    form = given.value("c", "%n")[:_MAX_FORM]
    code = 0
    for name in given.operands:
        path = process.path(name)
        entry = process.files.entry(path, follows=False)
        if entry is None:
            yield error(f"stat: can't stat '{name}': No such file or directory\n")
            code = 1
        else:
            yield output(_facts(form, name, entry, process.files.file_system(path)) + "\n")
    return code


def _facts(form: str, name: str, entry: Entry, system: str) -> str:
    letter, kind = kind_of(entry)
    values = {
        "a": f"{entry.mode:o}",
        "A": ("-" if letter == "f" else letter) + rights(entry.mode),
        "F": kind,
        "g": str(entry.group),
        "n": name,
        "s": str(len(entry.data or b"")),
        "T": system,
        "u": str(entry.user),
        "%": "%",
    }
    return re.sub("%(.)", lambda match: values.get(match[1], match[0]), form)


def kind_of(entry: Entry) -> tuple[str, str]:
    """The letter that `find -type` has for a kind of file, and its name."""
    if entry.data is None:
        return "d", "directory"
    return ("l", "symbolic link") if entry.is_link else ("f", "regular file")


def rights(mode: int) -> str:
    """The rights of a mode as letters."""
    return "".join(
        sign if mode >> (8 - place) & 1 else "-" for place, sign in enumerate("rwxrwxrwx")
    )


def _change(process: Process) -> Program:
    """`chmod` with a number, `chown` and `chgrp` with numbers."""
    program = posixpath.basename(process.arguments[0])
    given = _CHANGE.read(process.arguments[1:])
    removed = "".join(letter for letter in "rwx" if program == "chmod" and given.has(letter))
    words = [f"-{removed}"] * bool(removed) + given.operands
    if len(words) < 2:
        yield error(f"{program}: missing operand\n")
        return 1
    wanted, *names = words
    fields = _change_of(program, wanted)
    code = 0
    for name in names:
        yield Step()
        try:
            path = process.path(name)
            for inner in _below(process, path) if given.has("R") else [path]:
                yield Step()
                process.files.change(inner, **fields(process.files.entry(inner)))
        except FileError as failed:
            yield error(f"{program}: {name}: {failed.reason}\n")
            code = 1
    return code


def _below(process: Process, path: str) -> Iterator[str]:
    """A file, or a directory with all that is below it. Raises FileError."""
    return (inner for inner, entry in process.files.walk(path) if not entry.is_link)


def _change_of(program: str, wanted: str) -> Callable[[Entry | None], dict[str, int]]:
    if program == "chmod":
        if re.fullmatch("[0-7]{1,4}", wanted):
            return lambda entry: {"mode": int(wanted, 8)}
        adds = re.fullmatch(r"[ugoa]*([+-])([rwx]+)", wanted)
        bits = sum({"r": 0o444, "w": 0o222, "x": 0o111}[each] for each in (adds[2] if adds else ""))
        if adds is not None and adds[1] == "-":
            return lambda entry: {"mode": (entry.mode if entry else 0) & ~bits}
        return lambda entry: {"mode": (entry.mode if entry else 0) | bits}
    user, _, group = wanted.partition(":")
    if program == "chgrp":
        user, group = "", wanted
    pairs = {"user": user, "group": group}
    numbers = {name: whole_number(text) for name, text in pairs.items()}
    given = {name: number for name, number in numbers.items() if number is not None}
    return lambda entry: given


def _find(process: Process) -> Program:
    """`find [DIRECTORY...] [-type f|d|l] [-name PATTERN]`"""
    words = process.arguments[1:]
    at = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    places, rules = words[:at] or ["."], dict(zip(words[at::2], words[at + 1 :: 2], strict=False))
    kind, pattern = rules.get("-type", ""), rules.get("-name", "*")
    code = 0
    for place in places:
        path = process.path(place)
        try:
            for inner, entry in process.files.walk(path):
                yield Step()
                is_wanted = kind in ("", kind_of(entry)[0])
                if is_wanted and matches(posixpath.basename(inner), pattern):
                    yield output(f"{place.rstrip('/')}{inner[len(path.rstrip('/')) :]}\n")
        except FileError as failed:
            yield error(f"find: {place}: {failed.reason}\n")
            code = 1
    return code


def _dd(process: Process) -> Program:
    """`dd if=FILE of=FILE bs=N count=N`"""
    given = dict(word.partition("=")[::2] for word in process.arguments[1:])
    block, count = _size(given.get("bs", "512")), whole_number(given.get("count", ""))
    limit = _MAX_DATA if count is None else min(block * count, _MAX_DATA)
    try:
        data = yield from _source(process, given.get("if", ""), limit)
        if target := given.get("of", ""):
            process.files.write(process.path(target), data)
        else:
            yield Write(STDOUT, data)
    except FileError as failed:
        yield error(f"dd: can't open {failed}\n")
        return 1
    copied = len(data) // max(1, block)
    yield error(f"{copied}+0 records in\n{copied}+0 records out\n")
    return 0


def _source(process: Process, name: str, limit: int) -> Generator[Effect, bytes, bytes]:
    """What is copied. Raises FileError."""
    if name == "/dev/zero":
        return bytes(limit)
    if name in ("/dev/urandom", "/dev/random"):
        seed = f"{process.hostname}{process.time()}".encode()
        return hashlib.shake_128(seed).digest(limit)
    if name:
        return process.files.read(process.path(name))[:limit]
    return (yield from read_all(process, limit))


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2]] if match else 512


def _df(process: Process) -> Program:
    yield output("Filesystem           1K-blocks      Used Available Use% Mounted on\n")
    for path, root in process.files.mounted():
        blocks = root.size // 1024 or _BLOCKS
        yield output(f"{root.file_system:<20} {blocks} 0 {blocks}   0% {path}\n")
    return 0


def _mount(process: Process) -> Program:
    words = process.arguments[1:]
    wanted = words[words.index("-t") + 1 :][:1] if "-t" in words else []
    for path, root in process.files.mounted():
        system = root.file_system
        if not wanted or system in wanted[0].split(","):
            yield output(f"{system} on {path} type {system} (rw,relatime)\n")
    return 0


def _name_of(process: Process) -> Program:
    """`basename` and `dirname`."""
    given = _BASENAME.read(process.arguments[1:])
    words = given.operands + given.values("s")
    if not words:
        yield error(f"{process.arguments[0]}: missing operand\n")
        return 1
    if posixpath.basename(process.arguments[0]) == "dirname":
        yield output(f"{posixpath.dirname(words[0]) or '.'}\n")
    else:
        name = posixpath.basename(words[0].rstrip("/"))
        yield output(f"{name.removesuffix(words[1]) if len(words) > 1 else name}\n")
    return 0


def _timeout(process: Process) -> Program:
    """Runs a command; nothing is ended early, as commands take no time by themselves."""
    words = _TIMEOUT.read(process.arguments[1:]).operands
    if len(words) < 2:
        yield error("timeout: missing operand\n")
        return 125
    return (yield from start(process.child(words[1:])))


def _which(process: Process) -> Program:
    code = 0
    for name in _WHICH.read(process.arguments[1:]).operands:
        yield Step()
        program = process.find(process.child([name]))
        if program is None:
            code = 1
            continue
        program.close()
        yield output(f"/usr/bin/{name}\n")
    return code


def _rmdir(process: Process) -> Program:
    code = 0
    for name in _RMDIR.read(process.arguments[1:]).operands:
        yield Step()
        path = process.path(name)
        try:
            if process.files.list(path):
                raise FileError(path, "Directory not empty")
            process.files.remove(path)
        except FileError as failed:
            yield error(f"rmdir: {name}: {failed.reason}\n")
            code = 1
    return code


def _diff(process: Process) -> Program:
    """`diff` and `cmp`: whether two files are equal."""
    names = _DIFF.read(process.arguments[1:]).operands
    try:
        first, second = (process.files.read(process.path(name)) for name in names[:2])
    except (FileError, ValueError) as failed:
        yield error(f"{process.arguments[0]}: {failed}\n")
        return 2
    if first == second:
        return 0
    yield output(f"{names[0]} {names[1]} differ\n")
    return 1


def _sysctl(process: Process) -> Program:
    code = 0
    for name in _SYSCTL.read(process.arguments[1:]).operands:
        name = name.replace("/", ".")
        value = process.surroundings.settings.get(name)
        if value is None:
            yield error(f"sysctl: error: '{name}' is an unknown key\n")
            code = 1
        else:
            yield output(f"{name} = {value}\n")
    return code


def _ip(process: Process) -> Program:
    """`ip addr`; changes need rights that only privileged containers have."""
    words = process.arguments[1:]
    if any(word in ("add", "del", "delete", "set") for word in words):
        if process.surroundings.is_privileged:
            return 0
        yield error("ip: RTNETLINK answers: Operation not permitted\n")
        return 2
    address = process.surroundings.network.address
    yield output(
        f"1: lo: inet 127.0.0.1/8 scope host lo\n2: eth0: inet {address}/24 scope global\n"
    )
    return 0


def _show_rights(process: Process) -> Program:
    """Shows the user after a program of root has set it."""
    user = 0 if process.surroundings.may_rise else process.identity.user
    yield output(f"Effective uid: {user}\n")
    return 0


def _yes(process: Process) -> Program:
    yield output(" ".join(process.arguments[1:] or ["y"]) + "\n")
    yield Wait(float("inf"))
    return 0


def _nproc(process: Process) -> Program:
    yield output("16\n")
    return 0


def _uptime(process: Process) -> Program:
    """The time, and how long the machine runs."""
    try:
        text = yield from process.read_files([BOOT], _MAX_DATA)
    except FileError as failed:
        yield error(f"uptime: {BOOT}: {failed.reason}\n")
        return 1
    started = re.search(rb"^btime (\d{1,12})$", text, re.MULTILINE)
    now = process.time()
    minutes = max(int(now) - int(started[1]), 0) // 60 if started else 0
    days, hours = minutes // 1440, minutes // 60 % 24
    since = f"{hours:2}:{minutes % 60:02}" if hours else f"{minutes % 60} min"
    if days:
        since = f"{days} day{'s' if days > 1 else ''}, {since}"
    clock = datetime.fromtimestamp(now, UTC)
    yield output(f" {clock:%H:%M:%S} up {since},  0 users,  load average: 0.00, 0.00, 0.00\n")
    return 0


def _xargs(process: Process) -> Program:
    """Runs a command with the words of its input."""
    data = (yield from read_all(process, _MAX_DATA)).decode(errors="replace")
    given = _XARGS.read(process.arguments[1:])
    words = given.operands or ["echo"]
    code = 0
    for batch in _batches(given, data):
        yield Step()
        failed = yield from start(process.child(_call(words, given.value("I"), batch)))
        if failed:
            code = failed if failed >= NOT_EXECUTABLE else _FAILED_CALL
    return code


def _call(words: list[str], sign: str, batch: list[str]) -> list[str]:
    """A command with words in place of a sign, or at its end."""
    return [each.replace(sign, batch[0]) for each in words] if sign else [*words, *batch]


def _batches(given: Given, data: str) -> Iterable[list[str]]:
    """The words for the calls of `xargs`: all, so many each, or a line each."""
    if given.value("I"):
        return ([line.strip()] for line in data.splitlines() if line.strip())
    separator = "\0" if given.has("0") else None
    words = [word for word in data.split(separator) if word]
    size = max(whole_number(given.value("n")) or len(words), 1)
    return (words[at : at + size] for at in range(0, max(len(words), 1), size))


SYSTEM_PROGRAMS: Mapping[str, Callable[[Process], Program]] = {
    "basename": _name_of,
    "chgrp": _change,
    "chmod": _change,
    "chown": _change,
    "cmp": _diff,
    "dd": _dd,
    "df": _df,
    "diff": _diff,
    "dirname": _name_of,
    "find": _find,
    "ip": _ip,
    "mount": _mount,
    "nnp": _show_rights,
    "nproc": _nproc,
    "rmdir": _rmdir,
    "stat": _stat,
    "sysctl": _sysctl,
    "timeout": _timeout,
    "uptime": _uptime,
    "which": _which,
    "xargs": _xargs,
    "yes": _yes,
}
