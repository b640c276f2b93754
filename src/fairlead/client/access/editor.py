"""Edits client configuration files under a lock and replaces them atomically."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import orjson

from fairlead.client.access.files import SECTIONS, check_kind, named_entries
from fairlead.client.access.model import AccessError
from fairlead.codec.yaml_writer import dump, natural_order
from fairlead.wire.outgoing.client_config import ClientConfigError, parse_document

Document = dict[str, Any]

_LOCK_TIMEOUT = 3.0
_PAUSE = 0.02
# A new configuration file.
_EMPTY: Document = {
    "apiVersion": "v1",
    "clusters": None,
    "contexts": None,
    "current-context": "",
    "kind": "Config",
    "preferences": {},
    "users": None,
}


def change_file(path: Path, change: Callable[[Document], None]) -> None:
    """Apply `change` to the document in a file and write it if it differs; raises AccessError. A
    lock file excludes other programs that respect it."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with _locked(path):
            _change(path, change)
    except OSError as error:
        where = error.filename or path
        raise AccessError(f"open {where}: {(error.strerror or str(error)).lower()}") from None


def _change(path: Path, change: Callable[[Document], None]) -> None:
    content = path.read_bytes() if path.exists() else b""
    try:
        before = parse_document(content)
        if not isinstance(before, dict):
            raise ClientConfigError("it is not a client configuration")
        check_kind(before)
        for section in SECTIONS:
            list(named_entries(before, section))  # validates them
    except ValueError as error:
        raise AccessError(f"{path} is not a client configuration: {error}") from None
    after = deepcopy(before) or deepcopy(_EMPTY)
    change(after)
    if after != before:
        _replace(path, _encoded(after, is_json=content.lstrip()[:1] == b"{"))


def _encoded(value: Document, is_json: bool) -> bytes:
    """Encode in the format that the file had, JSON or YAML."""
    if is_json:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    # Keys of other types than text become text, as in JSON.
    return dump(orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)), natural_order)


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically. Keeps its mode, follows a symbolic link; a new file is readable by
    its owner only."""
    path = Path(os.path.realpath(path))
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock file that other clients of the API use, too; raises OSError."""
    lock = path.with_name(f"{path.name}.lock")
    ends = monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError:
            if monotonic() > ends:
                raise
            sleep(_PAUSE)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lock.unlink()


def entry_in(document: Document, section: str, name: str) -> Document:
    """The entry of a name in a section; added if missing."""
    key = SECTIONS[section]
    listed = document[section] = document.get(section) or []
    for item in listed:
        if item.get("name", "") == name:
            entry: Document = item.get(key) or {}
            item[key] = entry
            return entry
    entry = {}
    listed.append({key: entry, "name": name})
    return entry
