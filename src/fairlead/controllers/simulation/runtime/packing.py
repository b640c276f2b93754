"""`gzip` and `gunzip`, and the packed archives of `tar`."""

from __future__ import annotations

import posixpath
import zlib

from fairlead.controllers.simulation.runtime.files import FileError
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Reading,
    Step,
    Write,
    error,
    read_all,
)

MAGIC = b"\x1f\x8b"
_GZIP = Options("c,stdout,to-stdout d,decompress,uncompress k,keep f,force S,suffix:")
_PACKED_AT_ONCE, _UNPACKED_AT_ONCE = 64 * 1024, 1024 * 1024
_MAX_BYTES = 256 * 1024  # of all that one call reads, and of what a file is unpacked to
_WITH_HEADER = 31  # for zlib: the format of gzip
_WARNING = 2


def packed(process: Process, data: bytes | memoryview) -> Reading:
    packer, content = zlib.compressobj(wbits=_WITH_HEADER), bytearray()
    for at in range(0, len(data), _PACKED_AT_ONCE):
        yield Step()
        piece = packer.compress(data[at : at + _PACKED_AT_ONCE])
        process.hold(len(piece))
        content += piece
    return bytes(content + packer.flush())


def unpacked(process: Process, data: bytes, limit: int) -> Reading:
    """The content of packed data, a little more than `limit` bytes at most. Raises zlib.error."""
    content = bytearray()
    while data and len(content) <= limit:
        unpacker = zlib.decompressobj(_WITH_HEADER)
        while data and not unpacker.eof and len(content) <= limit:
            yield Step()
            piece = unpacker.decompress(data, _UNPACKED_AT_ONCE)
            process.hold(len(piece))
            content += piece
            data = unpacker.unconsumed_tail
        data = unpacker.unused_data if unpacker.unused_data.startswith(MAGIC) else b""
    return bytes(content)


class _Unchanged(Exception):
    """A file is left as it is."""


def gzip(process: Process) -> Program:
    """`gzip FILE...` puts FILE.gz in the place of a file, and `gunzip` the other way round. What
    comes from the input goes to the output, with `-c` everything does."""
    program = posixpath.basename(process.arguments[0])
    given = _GZIP.read(process.arguments[1:])
    unpacks = given.has("d") or program == "gunzip"
    code, left = 0, _MAX_BYTES
    for name in given.operands or ["-"]:
        try:
            goal = "" if name == "-" or given.has("c") else _goal(process, given, name, unpacks)
            if name == "-":
                data = yield from read_all(process, left + 1)
            else:
                data = yield from process.read_files([name], left + 1)
            left -= _checked(name, data, left)
            if unpacks:
                data = yield from unpacked(process, data, _MAX_BYTES)
                _checked(name, data, _MAX_BYTES)
            else:
                data = yield from packed(process, data)
            if goal:
                _replace(process, name, goal, data, keeps=given.has("k"))
            else:
                yield Write(STDOUT, data)
        except (FileError, zlib.error) as failed:
            yield error(f"{program}: {failed}\n")
            code = 1
        except _Unchanged as failed:
            yield error(f"{program}: {failed}\n")
            code = code or _WARNING
    return code


def _checked(name: str, data: bytes, limit: int) -> int:
    """The size of what was read. Raises FileError if it is too large."""
    if len(data) > limit:
        raise FileError(name, "File too large")
    return len(data)


def _goal(process: Process, given: Given, name: str, unpacks: bool) -> str:
    """The name of the file that replaces another. Raises _Unchanged."""
    suffix = given.value("S") or ".gz"
    if name.endswith(suffix) != unpacks:
        told = (
            "unknown suffix -- ignored" if unpacks else f"already has {suffix} suffix -- unchanged"
        )
        raise _Unchanged(f"{name}: {told}")
    goal = name.removesuffix(suffix) if unpacks else f"{name}{suffix}"
    if not given.has("f") and process.files.entry(process.path(goal)) is not None:
        raise _Unchanged(f"{goal} already exists;\tnot overwritten")
    return goal


def _replace(process: Process, name: str, goal: str, data: bytes, *, keeps: bool) -> None:
    """Raises FileError."""
    files, path = process.files, process.path(name)
    entry = files.entry(path)
    files.write(process.path(goal), data, mode=entry.mode if entry else 0o644)
    if not keeps:
        files.remove(path)
