"""`tar` and `gzip`, as `kubectl cp` and scripts use them."""

from __future__ import annotations

import io
import posixpath
import tarfile
import zlib
from collections.abc import Generator
from typing import NamedTuple

from fairlead.controllers.simulation.runtime.files import MAX_BYTES, MAX_FILES, FileError, Files
from fairlead.controllers.simulation.runtime.links import put_link
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Reading,
    Step,
    Write,
    error,
    operands,
    output,
    read_all,
)

_MAX_ARCHIVE = MAX_BYTES + MAX_FILES * 1024
_CHUNK = 32 * 1024
_PACKED_AT_ONCE = 64 * 1024
_STREAMS = ("-", "/dev/stdin", "/dev/stdout")
_UNPACKED_AT_ONCE = 1024 * 1024
_FAILED = 2
_MAX_PACKED = 256 * 1024  # of gzip, on either side
_WITH_HEADER = 31  # for zlib: the format of gzip
_GZIP = b"\x1f\x8b"
_MAX_HEADER, _MAX_FIELDS = 16 * 1024, 100  # bytes of names and other fields; fields for all members
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _Wanted(NamedTuple):
    """The letters of the flags, the names, the directory of `-C`, and the archive's path ("" for
    the standard streams)."""

    flags: str
    names: list[str]
    directory: str
    archive: str


def tar(process: Process) -> Program:
    """`tar cf ARCHIVE PATH...`, `tar xf ARCHIVE -C DIRECTORY`, `tar tf ARCHIVE` and variants."""
    wanted = _parsed(process)
    if "c" in wanted.flags:
        return (yield from _create(process, wanted))
    if "x" in wanted.flags or "t" in wanted.flags:
        return (yield from _read(process, wanted))
    yield error("tar: must specify one of c, x, t\n")
    return 1


def _parsed(process: Process) -> _Wanted:
    flags, names, directory, archive = "", [], process.directory, ""
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
                name = words.pop(0)
                archive = "" if name in _STREAMS else process.path(name)
        else:
            names.append(word)
    return _Wanted(flags, names, directory, archive)


def _create(process: Process, wanted: _Wanted) -> Program:
    buffer = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in wanted.names:
            path = process.files.absolute(name, wanted.directory)
            if name.startswith("/"):
                yield error("tar: Removing leading '/' from member names\n")
            try:
                for inner, entry in process.files.walk(path):
                    yield Step()
                    if buffer.tell() > _MAX_ARCHIVE:
                        raise FileError(inner, "File too large")
                    shown = posixpath.normpath(name.lstrip("/") + inner[len(path) :])
                    member = tarfile.TarInfo(shown)
                    member.mode = entry.mode
                    member.mtime = int(process.time())
                    if entry.data is None:
                        member.type = tarfile.DIRTYPE
                        archive.addfile(member)
                    elif entry.is_link:
                        member.type = tarfile.SYMTYPE
                        member.linkname = entry.data.decode(errors="surrogateescape")
                        archive.addfile(member)
                    else:
                        member.size = len(entry.data)
                        process.hold(member.size)
                        archive.addfile(member, io.BytesIO(entry.data))
            except FileError as failed:
                yield error(f"tar: {name}: Cannot stat: {failed.reason}\n")
                code = _FAILED
    buffer.seek(0)
    if "z" in wanted.flags:
        buffer = yield from _packed(process, buffer)
    if not wanted.archive:
        while data := buffer.read(_CHUNK):
            yield Write(STDOUT, data)
        return code
    try:
        process.files.write(wanted.archive, buffer.getvalue())
    except FileError as failed:
        yield error(f"tar: {wanted.archive}: Cannot open: {failed.reason}\n")
        return _FAILED
    return code


def _packed(process: Process, content: io.BytesIO) -> Generator[Step, bytes, io.BytesIO]:
    packer, packed = zlib.compressobj(wbits=_WITH_HEADER), io.BytesIO()
    while data := content.read(_PACKED_AT_ONCE):
        yield Step()
        process.hold(packed.write(packer.compress(data)))
    packed.write(packer.flush())
    packed.seek(0)
    return packed


def _read(process: Process, wanted: _Wanted) -> Program:
    """Extract an archive, or list its members."""
    files, directory, lists = process.files, wanted.directory, "t" in wanted.flags
    at = files.entry(directory)
    if at is None or at.data is not None:
        yield error(f"tar: {directory}: Cannot open: No such file or directory\n")
        return _FAILED
    try:
        if wanted.archive:
            data = yield from process.read_files([wanted.archive], _MAX_ARCHIVE)
        else:
            data = yield from read_all(process, _MAX_ARCHIVE)
        if data.startswith(_GZIP):
            data = yield from _unpacked(process, data)
        source = io.BytesIO(data)
        with tarfile.open(fileobj=source, mode="r:", tarinfo=_Member) as archive:
            for count, member in enumerate(archive):
                yield Step()
                if count > MAX_FILES:
                    raise FileError(member.name, "No space left on device")
                if lists:
                    yield output(f"{member.name}{'/' if member.isdir() else ''}\n")
                    continue
                path = files.absolute(member.name.lstrip("/"), directory)
                if not f"{path}/".startswith(f"{directory.rstrip('/')}/"):
                    raise FileError(member.name, "Not within the directory")
                _put(files, archive, member, path, directory)
    except FileError as failed:
        yield error(f"tar: {failed}\n")
        return _FAILED
    except (tarfile.TarError, EOFError, OSError, OverflowError, zlib.error, ValueError) as failed:
        yield error(f"tar: {failed}\n")
        return 1
    return 0


def _put(
    files: Files, archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, directory: str
) -> None:
    """Make a member of an archive at a path. Raises FileError."""
    if member.isdir():
        files.make_directory(path, with_parents=True)
        return
    files.make_directory(posixpath.dirname(path), with_parents=True)
    if member.issym():
        put_link(files, path, member.linkname.encode(errors="surrogateescape"))
        return
    old = files.entry(path, follows=False)
    if old is not None and old.is_link:
        files.remove(path)
    if member.islnk():
        files.write(path, files.read(files.absolute(member.linkname.lstrip("/"), directory)))
    elif member.isreg():
        content = archive.extractfile(member)
        assert content is not None
        files.write(path, content.read(MAX_BYTES + 1), mode=member.mode & 0o777)


def _unpacked(process: Process, data: bytes) -> Reading:
    """The content of a compressed archive, as far as it is allowed. Raises zlib.error."""
    unpacker, content = zlib.decompressobj(_WITH_HEADER), bytearray()
    while data and len(content) < _MAX_ARCHIVE:
        yield Step()
        piece = unpacker.decompress(data, _UNPACKED_AT_ONCE)
        process.hold(len(piece))
        content += piece
        data = unpacker.unconsumed_tail
    return bytes(content)


class _Member(tarfile.TarInfo):
    """A member whose headers are small. Large ones take long to parse, and nobody needs them."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _MAX_HEADER:
            raise tarfile.ReadError("header too large")
        if self.type == tarfile.GNUTYPE_SPARSE or len(archive.pax_headers) > _MAX_FIELDS:
            raise tarfile.ReadError("unsupported format")
        member: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return member

    def _refuse(self, *_: object) -> None:
        raise tarfile.ReadError("unsupported format")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse


def gzip(process: Process) -> Program:
    """`gzip` and `gunzip` of files or of the input, always to the output."""
    flags, names = operands(process)
    unpacks = "d" in flags or posixpath.basename(process.arguments[0]) == "gunzip"
    try:
        read = process.read_files(names, _MAX_PACKED) if names else read_all(process, _MAX_PACKED)
        data = yield from read
        yield Write(STDOUT, _repacked(data[:_MAX_PACKED], unpacks=unpacks))
    except (FileError, zlib.error) as failed:
        yield error(f"{process.arguments[0]}: {failed}\n")
        return 1
    return 0


def _repacked(data: bytes, *, unpacks: bool) -> bytes:
    if unpacks:
        return zlib.decompressobj(_WITH_HEADER).decompress(data, _MAX_PACKED)
    packer = zlib.compressobj(wbits=_WITH_HEADER)
    return packer.compress(data) + packer.flush()
