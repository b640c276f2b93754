"""Generates ConfigMaps and Secrets from texts and files, and names them by a hash of their
content."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import orjson

from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.files import Folder
from fairlead.cli.kustomize.resources import Built, Object

_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_LINE = 70  # characters in a line of base64
_HASH_LETTERS = str.maketrans("013ae", "ghkmt")  # no vowels, and nothing that looks alike


def generate(kind: str, entry: Object, general: Object, folder: Folder) -> Built:
    """The object of one generator; raises KustomizeError."""
    name = entry.get("name")
    where = f"{folder.path}: {kind} {name or ''}".rstrip()
    if not name:
        raise KustomizeError(f"{where}: a generator needs a name")
    metadata: Object = {"name": name}
    if entry.get("namespace"):
        metadata["namespace"] = entry["namespace"]
    value: Object = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    data = _data(entry, folder, where)
    if kind == "Secret":
        value["type"] = entry.get("type") or "Opaque"
        value["data"] = {key: _base64(content) for key, content in sorted(data.items())}
    else:
        _fill_config_map(value, data)
    options = _options(entry.get("options") or {}, general)
    for field in ("labels", "annotations"):
        if options[field]:
            metadata[field] = dict(sorted(options[field].items()))
    if options["immutable"]:
        value["immutable"] = True
    built = Built(value)
    built.is_generated = True
    built.is_hashed = not options["disableNameSuffixHash"]
    built.behaviour = entry.get("behavior") or ""
    return built


def _options(own: Object, general: Object) -> Object:
    merged: Object = {
        field: {**(general.get(field) or {}), **(own.get(field) or {})}
        for field in ("labels", "annotations")
    }
    for switch in ("disableNameSuffixHash", "immutable"):
        merged[switch] = bool(own.get(switch) or general.get(switch))
    return merged


def _fill_config_map(value: Object, data: dict[str, bytes]) -> None:
    for key, content in sorted(data.items()):
        try:
            field, text = "data", content.decode()
        except UnicodeDecodeError:
            field, text = "binaryData", _base64(content)
        value.setdefault(field, {})[key] = text


def _base64(content: bytes) -> str:
    """Base64, in lines if it is long."""
    text = b64encode(content).decode()
    if len(text) < _LINE:
        return text
    return "".join(f"{text[start : start + _LINE]}\n" for start in range(0, len(text), _LINE))


def _data(entry: Object, folder: Folder, where: str) -> dict[str, bytes]:
    data: dict[str, bytes] = {}
    for key, content in _pairs(entry, folder, where):
        if not _KEY.fullmatch(key) or key in (".", ".."):
            raise KustomizeError(f"{where}: {key!r} cannot be a key")
        if key in data:
            raise KustomizeError(f"{where}: the key {key} is there twice")
        data[key] = content
    return data


def _pairs(entry: Object, folder: Folder, where: str) -> Iterator[tuple[str, bytes]]:
    for name in [*(entry.get("envs") or ()), *([entry["env"]] if entry.get("env") else ())]:
        yield from _variables(folder.read(name), f"{folder.path / name}")
    for literal in entry.get("literals") or ():
        key, sign, text = literal.partition("=")
        if not key or not sign:
            raise KustomizeError(f"{where}: a literal is KEY=VALUE, not {literal!r}")
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1]
        yield key, text.encode()
    for source in entry.get("files") or ():
        key, sign, name = source.partition("=")
        if not sign:
            key, name = source.rstrip("/").rpartition("/")[2], source
        if not key or not name or "=" in name:
            raise KustomizeError(f"{where}: a file is NAME or KEY=NAME, not {source!r}")
        yield key, folder.read(name)


def _variables(content: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            line = raw.removesuffix(b"\r").decode().lstrip()
        except UnicodeDecodeError:
            raise KustomizeError(f"{where}: line {number} is not UTF-8 text") from None
        if not line or line.startswith("#"):
            continue
        key, _, text = line.partition("=")
        if not _VARIABLE.fullmatch(key) or key in (".", "..") or key.startswith(".."):
            raise KustomizeError(f"{where}: line {number}: {key!r} cannot be a variable")
        yield key, text.encode()


# The hash of the content.


def content_hash(value: Object) -> str:
    """Ten letters and digits that stand for the content of an object."""
    kind = value.get("kind")
    # The reference always hashes an empty name.
    hashed: Object = {"kind": kind, "name": "", "data": value.get("data", "")}
    extra = "binaryData" if kind == "ConfigMap" else "stringData"
    if isinstance(value.get(extra), dict):
        hashed[extra] = value[extra]
    if kind == "Secret":
        hashed["type"] = value.get("type", "")
    digest = hashlib.sha256(_canonical(hashed)).hexdigest()
    return digest[:10].translate(_HASH_LETTERS)


def _canonical(value: Any) -> bytes:
    """JSON with sorted keys and the escapes of the reference."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    for letter in ("<", ">", "&", "\u2028", "\u2029"):
        text = text.replace(letter.encode(), f"\\u{ord(letter):04x}".encode())
    return text
