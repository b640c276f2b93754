"""`tar`, as `kubectl cp` and scripts use it."""

from __future__ import annotations

import io
import posixpath
import tarfile
import zlib
from typing import NamedTuple

from fairlead.controllers.simulation.runtime.files import MAX_BYTES, MAX_FILES, FileError, Files
from fairlead.controllers.simulation.runtime.links import put_link
from fairlead.controllers.simulation.runtime.options import Given, Options
from fairlead.controllers.simulation.runtime.packing import MAGIC, packed, unpacked
from fairlead.controllers.simulation.runtime.process import (
    STDOUT,
    Process,
    Program,
    Step,
    Write,
    error,
    output,
    read_all,
)

_TAR = Options(
    "c,create x,extract,get t,list z,gzip f,file: C,directory: T,files-from: X,exclude-from:"
    " exclude: strip-components: owner: group: mode: mtime: transform:"
)
_WITH_VALUES, _MAX_LETTERS = "fCTX", 64  # of the old style
_MAX_ARCHIVE = MAX_BYTES + MAX_FILES * 1024
_CHUNK = 32 * 1024
_STREAMS = ("-", "/dev/stdin", "/dev/stdout")
_FAILED = 2
_MAX_HEADER, _MAX_FIELDS = 16 * 1024, 100  # bytes of names and other fields; fields for all members
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class _Wanted(NamedTuple):
    """What `tar` was given, the directory of `-C`, and the archive's path ("" for the standard
    streams)."""

    given: Given
    directory: str
    archive: str


def tar(process: Process) -> Program:
    """`tar cf ARCHIVE PATH...`, `tar xf ARCHIVE -C DIRECTORY`, `tar tf ARCHIVE` and variants."""
    wanted = _parsed(process)
    if wanted.given.has("c"):
        return (yield from _create(process, wanted))
    if wanted.given.has("x", "t"):
        return (yield from _read(process, wanted))
    yield error("tar: must specify one of c, x, t\n")
    return 1


def _parsed(process: Process) -> _Wanted:
    words = list(process.arguments[1:])
    if words and not words[0].startswith("-"):  # the old style, such as `tar cfz ARCHIVE`
        letters = words.pop(0)[:_MAX_LETTERS]
        options: list[str] = []
        for letter in letters:
            options.append(f"-{letter}")
            if letter in _WITH_VALUES and words:
                options.append(words.pop(0))
        words = options + words
    given = _TAR.read(words)
    name = given.value("f", "-")
    archive = "" if name in _STREAMS else process.path(name)
    return _Wanted(given, process.path(given.value("C", ".")), archive)


def _create(process: Process, wanted: _Wanted) -> Program:
    buffer = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in wanted.given.operands:
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
    if wanted.given.has("z"):
        buffer = io.BytesIO((yield from packed(process, buffer.getbuffer())))
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


def _read(process: Process, wanted: _Wanted) -> Program:
    """Extract an archive, or list its members."""
    files, directory, lists = process.files, wanted.directory, wanted.given.has("t")
    at = files.entry(directory)
    if at is None or at.data is not None:
        yield error(f"tar: {directory}: Cannot open: No such file or directory\n")
        return _FAILED
    try:
        if wanted.archive:
            data = yield from process.read_files([wanted.archive], _MAX_ARCHIVE)
        else:
            data = yield from read_all(process, _MAX_ARCHIVE)
        if data.startswith(MAGIC):
            data = yield from unpacked(process, data, _MAX_ARCHIVE)
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
