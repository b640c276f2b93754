"""Objects from files, folders and the standard input, as YAML or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed

Object = dict[str, Any]
_ENDINGS = (".yaml", ".yml", ".json")


class ManifestError(CommandFailed):
    """A file that cannot be read as objects."""

    def __init__(self, text: str) -> None:
        super().__init__(f"error: {text}")


class Manifest(NamedTuple):
    """An object and where it was found."""

    value: Object
    origin: str


def add_file_flags(parser: ArgumentReader, what: str) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        default=[],
        help=f"file or folder with the objects to {what}; - is the standard input",
    )
    parser.add_switch("-R", "--recursive", help="also folders within the folders named by -f")


def manifests(names: Sequence[str], recursive: bool = False) -> list[Manifest]:
    """All objects in the order in which they are found; raises ManifestError."""
    return [one for name in names for one in _read(name, recursive)]


def _read(name: str, recursive: bool) -> Iterator[Manifest]:
    if name == "-":
        yield from parsed(sys.stdin.read(), "STDIN")
        return
    path = Path(name)
    try:
        if not path.is_dir():
            yield from parsed(path.read_text(), name)
            return
        found = sorted(path.rglob("*") if recursive else path.iterdir())
        for file in found:
            if file.suffix in _ENDINGS and file.is_file():
                yield from parsed(file.read_text(), str(file))
    except FileNotFoundError:
        raise ManifestError(f'the path "{name}" does not exist') from None
    except (OSError, UnicodeDecodeError) as error:
        raise ManifestError(f"error reading {name}: {error}") from None


def parsed(text: str, origin: str) -> Iterator[Manifest]:
    """The objects of a text; raises ManifestError."""
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise ManifestError(f"error parsing {origin}: {said}") from None
    for value in documents:
        if value is not None:
            yield from _flattened(value, origin)


def _flattened(value: Any, origin: str) -> Iterator[Manifest]:
    """The object itself, or those of a List."""
    if not isinstance(value, dict):
        raise ManifestError(f"error validating {origin}: invalid object to validate")
    for name in ("apiVersion", "kind"):
        if not isinstance(value.get(name), str) or not value[name]:
            raise ManifestError(f'error validating "{origin}": {name} not set')
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _flattened(item, origin)
        return
    if not isinstance(value.get("metadata", {}), dict):
        raise ManifestError(f'error validating "{origin}": metadata is not an object')
    yield Manifest(value, origin)
