"""Commands whose outcome a script gives."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.globs import matches
from fairlead.controllers.simulation.runtime.files import FileError, Files
from fairlead.controllers.simulation.runtime.process import (
    Process,
    Program,
    Wait,
    error,
    output,
)
from fairlead.controllers.simulation.runtime.programs import find_program

ANY_REST = "..."
Find = Callable[[Process], Program | None]


def find_entry(commands: Iterable[Object], words: Sequence[str]) -> Object | None:
    """The first entry of a script for a command. The path of a program need not be given."""
    for entry in commands:
        patterns = entry["command"]
        if patterns[-1] == ANY_REST:
            patterns = patterns[:-1]
            if len(words) < len(patterns):
                continue
        elif len(words) != len(patterns):
            continue
        if all(map(matches, patterns[1:], words[1:])) and (
            not patterns or _is_program(patterns[0], words[0])
        ):
            return entry
    return None


def _is_program(pattern: str, word: str) -> bool:
    return matches(pattern, word) or matches(pattern, posixpath.basename(word))


def finder(commands: Sequence[Object]) -> Find:
    """Finds programs: those of a script first, then those that every container has."""
    if not commands:
        return find_program

    def find(process: Process) -> Program | None:
        entry = find_entry(commands, process.arguments)
        return find_program(process) if entry is None else scripted(entry, process)

    return find


def scripted(entry: Object, process: Process, lifetime: float = 0.0) -> Program:
    """A program as a script says. It runs for `lifetime` seconds unless the script says how it
    ends."""
    if entry.get("stdout"):
        yield output(entry["stdout"])
    if entry.get("stderr"):
        yield error(entry["stderr"])
    ends = "delay" in entry or "exitCode" in entry
    if ends:
        yield Wait(parse_duration(entry.get("delay") or "0s"))
    write_files(process.files, entry.get("files") or {})
    if not ends:
        yield Wait(lifetime)
    return int(entry.get("exitCode") or 0)


def write_files(files: Files, contents: Mapping[str, str]) -> None:
    """Write the files of a script as far as possible."""
    for name, text in contents.items():
        try:
            path = files.absolute(name)
            files.make_directory(posixpath.dirname(path), with_parents=True)
            files.write(path, text.encode())
        except FileError:  # such as a path within a volume that cannot be written
            continue
