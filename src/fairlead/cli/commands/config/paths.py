"""Files referenced by entries: embedded as base64, or stored as a path."""

from __future__ import annotations

import os
from base64 import b64encode
from pathlib import Path

from fairlead.cli.commands.config.files import Files
from fairlead.cli.errors import CommandFailed


def content_of(path: str, what: str) -> str:
    """The base64 content of a file, for a field that ends in -data; raises CommandFailed."""
    try:
        return b64encode(Path(path).read_bytes()).decode()
    except OSError as error:
        why = f"open {path}: {(error.strerror or str(error)).lower()}"
        raise CommandFailed(f"error: could not read {what} data from {path}: {why}") from None


def path_from(files: Files, section: str, name: str, path: str) -> str:
    """The path relative to the configuration file of the entry if it is below its directory, else
    absolute."""
    found = files.said.entries[section].get(name)
    directory = (files.default if found is None else found.origin).absolute().parent
    whole = os.path.abspath(path)
    relative = os.path.relpath(whole, directory)
    return whole if relative.startswith("..") else relative
