"""Reads objects as YAML or JSON from files, folders, URLs and standard input."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fairlead.base.terminal import printable
from fairlead.cli import downloads
from fairlead.cli.errors import CommandError
from fairlead.cli.file_flags import Kustomization
from fairlead.cli.interrupts import interruptible
from fairlead.cli.kustomize import build
from fairlead.codec import yaml_reader

Object = dict[str, Any]
_ENDINGS = (".yaml", ".yml", ".json")
_ADDRESSES = ("http://", "https://")
_SEPARATOR = re.compile(r"^---.*$", re.MULTILINE)
_LOOKED_AT: dict[str, type] = {
    **dict.fromkeys(("name", "generateName", "namespace"), str),
    **dict.fromkeys(("labels", "annotations"), dict),
}
ADVICE = "--validate=false sends it as it is"


class ManifestError(CommandError):
    """A file cannot be read as objects."""


class Manifest(NamedTuple):
    """An object and the file, URL or STDIN it was read from."""

    value: Object
    origin: str


def named_by_file(names: Sequence[str]) -> str:
    """The single object of files as `KIND.VERSION.GROUP/NAME`; raises ManifestError."""
    found = manifests(names)
    if len(found) != 1:
        raise ManifestError(f"the file must have one object, not {len(found)}")
    value = found[0].value
    group, _, version = value["apiVersion"].rpartition("/")
    kind = f"{value['kind']}.{version}.{group}" if group else value["kind"]
    return f"{kind}/{(value.get('metadata') or {}).get('name') or ''}"


def manifests(names: Sequence[str], recursive: bool = False) -> list[Manifest]:
    """All objects in the order of the files; raises ManifestError."""
    folders = [name for name in names if isinstance(name, Kustomization)]
    if folders:
        if len(names) > 1:
            raise ManifestError("-k takes one folder, and no files beside it (-f)")
        return kustomized(folders[0])
    with interruptible():
        return [
            manifest
            for name in names
            for part in name.split(",")
            for manifest in _read(part, recursive)
        ]


def kustomized(folder: str) -> list[Manifest]:
    """The objects of a kustomization, in the order in which they are applied; raises
    CommandFailed. Warnings go to standard error."""
    with interruptible():
        result = build.build(folder)
        for warning in result.warnings:
            print(f"Warning: {printable(warning)}", file=sys.stderr)
        return [manifest for value in result.items for manifest in _flattened(value, str(folder))]


def _read(name: str, recursive: bool) -> Iterator[Manifest]:
    if name == "-":
        yield from parsed(_standard_input(), "STDIN")
        return
    if name.startswith(_ADDRESSES):
        try:
            text = downloads.download(name)
        except downloads.DownloadError as error:
            raise ManifestError(str(error)) from None
        yield from parsed(text, name)
        return
    path = Path(name)
    try:
        if not name:
            raise FileNotFoundError
        if not path.is_dir():
            yield from parsed(path.read_text("utf-8-sig"), name)
            return
        paths = sorted(path.rglob("*") if recursive else path.iterdir())
        for file in paths:
            if file.suffix in _ENDINGS and file.is_file():
                yield from parsed(file.read_text("utf-8-sig"), str(file))
    except FileNotFoundError:
        raise ManifestError(f'file "{name}" does not exist') from None
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"error reading {name}: {error}") from None


def _standard_input() -> str:
    if sys.stdin is None:
        raise ManifestError("error reading STDIN: it is closed")
    try:
        return sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"error reading STDIN: {error}") from None


def parsed(text: str, origin: str) -> Iterator[Manifest]:
    """The objects in a text; raises ManifestError."""
    for value in documents(text, origin):
        if value is not None:
            yield from _flattened(value, origin)


def documents(text: str, origin: str) -> Iterator[Any]:
    """The values in a text: YAML documents, or concatenated JSON values. Raises ManifestError also
    for values that cannot be encoded as JSON."""
    for value in _documents(text, origin):
        try:
            orjson.dumps(value)
        except TypeError as error:  # nested too deep, number out of range, lone surrogate
            raise ManifestError(f"error parsing {origin}: {error}") from None
        yield value


def _documents(text: str, origin: str) -> Iterator[Any]:
    if text.lstrip().startswith("{"):
        values = _json_values(text)
        if values is not None:
            yield from values
            return
    for document in _SEPARATOR.split(text):
        try:
            yield yaml_reader.load(document.encode(errors="surrogatepass"))[0]
        except (yaml_reader.YamlError, UnicodeError) as error:
            raise ManifestError(
                f"error parsing {origin}: error converting YAML to JSON: {error}"
            ) from None


def _json_values(text: str) -> list[Any] | None:
    """The concatenated JSON values; None if the text is not JSON, so that it is read as YAML."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = 0
    try:
        while position < len(text):
            if text[position].isspace():
                position += 1
                continue
            value, position = decoder.raw_decode(text, position)
            values.append(value)
    except (ValueError, RecursionError):
        return None
    return values


def _flattened(value: Any, origin: str) -> Iterator[Manifest]:
    """The object itself, or the items if it is a List."""
    if not isinstance(value, dict):
        raise _invalid(origin, "invalid object to validate")
    missing = [
        f"{name} not set"
        for name in ("apiVersion", "kind")
        if not isinstance(value.get(name), str) or not value[name]
    ]
    if missing:
        raise _invalid(origin, missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]")
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _flattened(item, origin)
        return
    _check_metadata(value.get("metadata"), origin)
    yield Manifest(value, origin)


def _check_metadata(metadata: Any, origin: str) -> None:
    """Check the types of the metadata fields that commands read."""
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise _invalid(origin, "metadata is not an object")
    for name, kind in _LOOKED_AT.items():
        if metadata.get(name) is not None and not isinstance(metadata[name], kind):
            expected = "a string" if kind is str else "an object"
            raise _invalid(origin, f"metadata.{name} is not {expected}")


def _invalid(origin: str, why: str) -> ManifestError:
    return ManifestError(f'error validating "{origin}": error validating data: {why}; {ADVICE}')
