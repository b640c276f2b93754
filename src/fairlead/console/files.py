"""The files of the console: read once, and served from memory.

All of them are served twice: under their own names, to be asked for again each time, and in a
folder that is named by what is in all of them, to be kept by browsers for good. The first page
names the scripts and styles of that folder, and what those import by relative names is there, too.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from hashlib import sha256
from pathlib import Path

from fairlead.api.answers import Answer, accepts_gzip, has_it
from fairlead.api.request import Request
from fairlead.base.errors import no_such_path
from fairlead.base.package_files import file_beside
from fairlead.base.records import dataclass
from fairlead.console import PATH
from fairlead.console.headers import SafeAnswer
from fairlead.wire.incoming.exchange import Header

_INDEX = "index.html"
_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "ico": "image/x-icon",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "mjs": "text/javascript; charset=utf-8",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
    "webmanifest": "application/manifest+json",
    "woff2": "font/woff2",
}
_THINNED = (".js", ".css")
_ANYTHING = "application/octet-stream"
_REFERENCE = re.compile(rb"""(\b(?:src|href)=")(?:\./)?([^"#:?]+)(?=")""")
_PAYS = 0.9  # a compressed file is sent if it is not longer than this part of the plain one
_FRESH: Header = (b"cache-control", b"no-cache")
_FOR_GOOD: Header = (b"cache-control", b"public, max-age=31536000, immutable")
_VARY: Header = (b"vary", b"Accept-Encoding")
_GZIP: Header = (b"content-encoding", b"gzip")


@dataclass(frozen=True, slots=True)
class File:
    """`compressed` is empty where it does not pay."""

    media_type: str
    plain: bytes
    compressed: bytes
    identity: str

    @classmethod
    def of(cls, name: str, content: bytes) -> File:
        compressed = gzip.compress(content, mtime=0)
        if len(compressed) > len(content) * _PAYS:
            compressed = b""
        media_type = _TYPES.get(name.rpartition(".")[2], _ANYTHING)
        return cls(media_type, content, compressed, _hash(content))

    def answer(self, request: Request, caching: Header) -> Answer:
        headers: tuple[Header, ...] = (caching, (b"etag", f'W/"{self.identity}"'.encode()))
        if self.compressed:
            headers += (_VARY,)
        if has_it(request, self.identity):
            return SafeAnswer(304, b"", self.media_type, headers)
        if self.compressed and accepts_gzip(request):
            return SafeAnswer(200, self.compressed, self.media_type, (*headers, _GZIP))
        return SafeAnswer(200, self.plain, self.media_type, headers)


class StaticFiles:
    """Read at the first request, from a directory, by default the one of the package."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or file_beside(__file__, "static")
        self._reading = asyncio.Lock()
        self._files: dict[str, tuple[File, Header]] = {}  # by the path below the console's

    async def answer(self, request: Request, path: str) -> Answer:
        """What is at a path below the console's; raises StatusError."""
        if not self._files:
            async with self._reading:
                self._files = self._files or await asyncio.to_thread(served_from, self._directory)
        found = self._files.get(path)
        if found is None:
            raise no_such_path()
        file, caching = found
        return file.answer(request, caching)


def served_from(directory: Path) -> dict[str, tuple[File, Header]]:
    """What is at which path below the console's, and how long browsers may keep it."""
    contents = dict(sorted(_contents(directory, "")))
    listed = ((name.encode(), sha256(content).digest()) for name, content in contents.items())
    folder = _hash(b"".join(part for pair in listed for part in pair))
    if _INDEX in contents:
        contents[_INDEX] = _with_references(contents, folder)
    made = {name: File.of(name, content) for name, content in contents.items()}
    served = {name: (file, _FRESH) for name, file in made.items()}
    if _INDEX in made:
        served[""] = (made[_INDEX], _FRESH)
    return served | {f"{folder}/{name}": (file, _FOR_GOOD) for name, file in made.items()}


def _contents(directory: Path, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in directory.iterdir():
        if entry.name.startswith((".", "__")):
            continue
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            found += _contents(entry, f"{name}/")
        else:
            content = entry.read_bytes()
            found.append((name, thin(content) if name.endswith(_THINNED) else content))
    return found


def _with_references(contents: dict[str, bytes], folder: str) -> bytes:
    """The first page, which names other files in the folder that is kept for good."""

    place = f"{PATH}/{folder}/".encode()

    def placed(match: re.Match[bytes]) -> bytes:
        attribute, name = match.groups()
        is_ours = name.decode(errors="replace") in contents
        return b"".join((attribute, place, name)) if is_ours else match[0]

    return _REFERENCE.sub(placed, contents[_INDEX])


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


# Scripts without what only their authors read: comments and indentation.
#
# It goes by lines, as scripts are written here: a comment of several lines stands alone, and no
# template goes over the end of a line (a test holds both).

_COMMENT = re.compile(rb"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
# Behind a statement; with a quotation mark it could be part of a text.
_REMARK = re.compile(rb"(?<=[;,{]) +// [^\n\"'`]*$", re.MULTILINE)
_TYPE = re.compile(rb"/\*\* @type [^*\n\"'`]*\*/ ?")
_INDENT = re.compile(rb"^[ \t]+|\n(?=\n)", re.MULTILINE)


def thin(script: bytes) -> bytes:
    return _INDENT.sub(b"", _TYPE.sub(b"", _REMARK.sub(b"", _COMMENT.sub(b"", script))))
