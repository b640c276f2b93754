"""`mounttest`: writes and shows files of volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fairlead.controllers.simulation.runtime.agnhost.flags import Flags, parse_flags
from fairlead.controllers.simulation.runtime.files import Entry, FileError
from fairlead.controllers.simulation.runtime.process import Process, Program, Wait, output
from fairlead.controllers.simulation.runtime.system_programs import rights

_NEW = "mount-tester new file\n"
_NEW_FILES = ("new_file_0644", "new_file_0666", "new_file_0660", "new_file_0777")
_DEFAULTS = {
    **dict.fromkeys(("fs_type", "file_mode", "file_perm", "file_owner", *_NEW_FILES), ""),
    "file_content": "",
    "file_content_in_loop": "",
    "retry_time": "180",
    "break_on_expected_content": "true",
}
# What marks a bit of a mode beyond those of owner, group and others.
_SPECIAL = ((0o4000, "u"), (0o2000, "g"), (0o1000, "t"))


def mounttest(process: Process, words: list[str]) -> Program:
    flags = parse_flags(words, _DEFAULTS)
    yield output("".join(_shown(process, flags)))
    path = flags.text("file_content_in_loop")
    if path:
        yield from _follow(process, path, flags)
    return 0


def _shown(process: Process, flags: Flags) -> Iterator[str]:
    files = process.files
    if path := flags.text("fs_type"):
        yield f'mount type of "{path}": {files.file_system(process.path(path))}\n'
    for name in _NEW_FILES:
        if path := flags.text(name):
            try:
                files.write(process.path(path), _NEW.encode(), mode=int(name[-4:], 8))
            except FileError as failed:
                yield f'error writing new file "{path}": {_reason("open", path, failed)}\n'
            else:
                yield _content(process, path, "error reading file content for")
    for name, show in _FACTS.items():
        if path := flags.text(name):
            entry = files.entry(process.path(path))
            yield (
                f"error: lstat {path}: no such file or directory\n"
                if entry is None
                else show(path, entry)
            )
    if path := flags.text("file_content"):
        yield _content(process, path, "error reading file content for")


def _content(process: Process, path: str, problem: str) -> str:
    try:
        data = process.files.read(process.path(path))
    except FileError as failed:
        return f'{problem} "{path}": {_reason("open", path, failed)}\n'
    return f'content of file "{path}": {data.decode(errors="replace")}\n'


def _follow(process: Process, path: str, flags: Flags) -> Program:
    """Show a file every second until it is there and stays the same, or for as long as told."""
    until = process.time() + flags.number("retry_time")
    while process.time() < until:
        try:
            data = process.files.read(process.path(path))
        except FileError as failed:
            yield output(f"Error reading file {path}: {_reason('open', path, failed)}, retrying\n")
        else:
            text = data.decode(errors="replace")
            yield output(f'content of file "{path}": {text}\n')
            if flags.is_set("break_on_expected_content"):
                return 0
        yield Wait(1.0)
    return 0


def _reason(action: str, path: str, failed: FileError) -> str:
    return f"{action} {path}: {failed.reason[:1].lower()}{failed.reason[1:]}"


def _mode(path: str, entry: Entry) -> str:
    kind = "d" if entry.data is None else ""
    special = "".join(letter for bit, letter in _SPECIAL if entry.mode & bit)
    return f'mode of file "{path}": {kind + special or "-"}{rights(entry.mode)}\n'


def _permissions(path: str, entry: Entry) -> str:
    return f'perms of file "{path}": -{rights(entry.mode)}\n'


def _owner(path: str, entry: Entry) -> str:
    return f'owner UID of "{path}": {entry.user}\nowner GID of "{path}": {entry.group}\n'


_FACTS: Mapping[str, Callable[[str, Entry], str]] = {
    "file_mode": _mode,
    "file_perm": _permissions,
    "file_owner": _owner,
}
