"""The static files of the console: read once, and served from memory.

Every file is served at two paths: under its own name, revalidated by browsers each time, and in a
folder named by a hash over all files, cached by browsers forever. The index page refers to scripts
and styles in that folder. Browsers run one script, into which all modules are joined.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from fairlead.api.answers import Answer, accepts_gzip, has_it
from fairlead.api.request import Request
from fairlead.base.errors import no_such_path
from fairlead.base.files import file_beside
from fairlead.console import PATH
from fairlead.console.joining import joined
from fairlead.wire.incoming.exchange import Header
from fairlead.wire.incoming.transfer import respond_in_pieces

_INDEX = "index.html"
_FIRST, _JOINED = "app.js", "joined.js"
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
_PAYS = 0.9  # send the compressed file if its size is at most this part of the plain one
_FRESH: Header = (b"cache-control", b"no-cache")
_FOR_GOOD: Header = (b"cache-control", b"public, max-age=31536000, immutable")
_VARY: Header = (b"vary", b"Accept-Encoding")
_GZIP: Header = (b"content-encoding", b"gzip")
_COMMENT = re.compile(rb"^[ \t]*(?:/\*(?:(?!\*/).)*\*/|//[^\n]*)\n", re.MULTILINE | re.DOTALL)
# Behind a statement. Comments with a quotation mark stay: they could be part of a string.
_REMARK = re.compile(rb"(?<=[;,{]) +// [^\n\"'`]*$", re.MULTILINE)
_TYPE = re.compile(rb"/\*\* @type [^*\n\"'`]*\*/ ?")
_INDENT = re.compile(rb"^[ \t]+|\n(?=\n)", re.MULTILINE)
_POLICY = """
default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';
font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';
require-trusted-types-for 'script'
"""
_UNUSED = """
accelerometer autoplay camera display-capture encrypted-media fullscreen geolocation gyroscope
magnetometer microphone midi payment picture-in-picture publickey-credentials-get screen-wake-lock
usb xr-spatial-tracking
"""
SECURITY_HEADERS: tuple[Header, ...] = (
    (b"content-security-policy", " ".join(_POLICY.split()).encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", ", ".join(f"{name}=()" for name in _UNUSED.split()).encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
NO_STORE: Header = (b"cache-control", b"no-store")


class File(NamedTuple):
    """A file in memory. `compressed` is empty if compression saves too little."""

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
            return SecuredAnswer(304, b"", self.media_type, headers)
        if self.compressed and accepts_gzip(request):
            return SecuredAnswer(200, self.compressed, self.media_type, (*headers, _GZIP))
        return SecuredAnswer(200, self.plain, self.media_type, headers)


Files = dict[str, tuple[File, Header]]  # by path below PATH, each with its Cache-Control


class StaticFiles:
    """Serves the files of a directory, by default the package's. Reads them at the first
    request."""

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or own_directory()
        self._reading = asyncio.Lock()
        self._files: Files = {}

    async def answer(self, request: Request, path: str) -> Answer:
        """Return the file at a path below PATH; raises StatusError."""
        if not self._files:
            async with self._reading:
                self._files = self._files or await asyncio.to_thread(served_from, self._directory)
        entry = self._files.get(path)
        if entry is None:
            raise no_such_path()
        file, caching = entry
        return file.answer(request, caching)


def own_directory() -> Path:
    """The directory of the console's files."""
    return file_beside(__file__, "static")


def served_from(directory: Path) -> Files:
    """Return the files of a directory."""
    contents = dict(sorted(_contents(directory, "")))
    if _FIRST in contents:
        scripts = {name: script for name, script in contents.items() if name.endswith(".js")}
        contents[_JOINED] = joined(scripts, _FIRST)
    listed = ((name.encode(), sha256(content).digest()) for name, content in contents.items())
    folder = _hash(b"".join(part for pair in listed for part in pair))
    if _INDEX in contents:
        contents[_INDEX] = _with_references(contents, folder)
    files = {name: File.of(name, content) for name, content in contents.items()}
    served = {name: (file, _FRESH) for name, file in files.items()}
    if _INDEX in files:
        served[""] = (files[_INDEX], _FRESH)
    return served | {f"{folder}/{name}": (file, _FOR_GOOD) for name, file in files.items()}


def _contents(directory: Path, prefix: str) -> list[tuple[str, bytes]]:
    contents = []
    for entry in directory.iterdir():
        if entry.name.startswith((".", "__")):
            continue
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            contents += _contents(entry, f"{name}/")
        else:
            content = entry.read_bytes()
            contents.append((name, thin(content) if name.endswith(_THINNED) else content))
    return contents


def _with_references(contents: dict[str, bytes], folder: str) -> bytes:
    """Rewrite the references of the index page to point into the cached folder."""

    base = f"{PATH}/{folder}/".encode()

    def with_base(match: re.Match[bytes]) -> bytes:
        attribute, name = match.groups()
        is_ours = name.decode(errors="replace") in contents
        return b"".join((attribute, base, name)) if is_ours else match[0]

    return _REFERENCE.sub(with_base, contents[_INDEX])


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


# Minifies scripts: removes comments and indentation.
#
# Works line by line and relies on how our scripts are written: a comment of several lines stands
# alone, and no template literal spans lines (a test checks both).


def thin(script: bytes) -> bytes:
    return _INDENT.sub(b"", _TYPE.sub(b"", _REMARK.sub(b"", _COMMENT.sub(b"", script))))


class SecuredAnswer(Answer):
    """A response with exactly the given headers and SECURITY_HEADERS, and a body of bytes that is
    sent unchanged."""

    __slots__ = ()

    def fields(self, request: Request) -> list[Header]:
        kind = (b"content-type", self.media_type.encode())
        return [kind, *self.headers, *SECURITY_HEADERS]

    async def send(self, request: Request) -> None:
        assert isinstance(self.body, bytes)
        await respond_in_pieces(request.exchange, self.code, self.fields(request), self.body)
