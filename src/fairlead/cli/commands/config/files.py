"""Reads and changes the client configuration files, for the config commands."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.client.access.editor import change_file, entry_in
from fairlead.client.access.files import (
    SECTIONS,
    Configuration,
    Sources,
    read_configuration,
    sources_of,
)

Fields = dict[str, Any]


class Files:
    """The merged configuration of the files, and changes to them. The file of --kubeconfig need not
    exist yet."""

    def __init__(self, invocation: Invocation) -> None:
        self.sources: Sources = sources_of(invocation.options.kubeconfig)
        self.configuration: Configuration = read_configuration(self.sources)

    @property
    def default(self) -> Path:
        """The file for new entries."""
        return self.sources.default

    def names(self, section: str) -> list[str]:
        return sorted(self.configuration.entries[section])

    def fields(self, section: str, name: str) -> Fields | None:
        """The fields of an entry; None if there is no entry of this name."""
        entry = self.configuration.entries[section].get(name)
        return None if entry is None else entry.value

    def set(
        self, section: str, name: str, change: Callable[[Fields], None], beside: str = ""
    ) -> bool:
        """Change an entry in its file, or create it in the file of the entry `beside`, or else in
        the default file; return whether it existed."""
        entry = self.configuration.entries[section].get(name)
        holder = entry or self.configuration.entries[section].get(beside)
        path = self.default if holder is None else holder.origin

        def write(document: Fields) -> None:
            change(entry_in(document, section, name))
            document[section].sort(key=lambda item: str(item.get("name", "")))

        change_file(path, write)
        return entry is not None

    def remove(self, section: str, name: str) -> None:
        """Remove an entry from its file."""
        path = self.configuration.entries[section][name].origin

        def write(document: Fields) -> None:
            document[section] = [
                item for item in document.get(section) or () if item.get("name", "") != name
            ] or None

        change_file(path, write)

    def clear(self, section: str) -> None:
        """Remove all entries of a section from their files."""
        for name in self.names(section):
            self.remove(section, name)

    def use(self, context: str) -> None:
        """Set current-context in the default file. An empty context clears it in the explicit file,
        or in the first file that sets one."""

        def write(document: Fields) -> None:
            document["current-context"] = context

        if context or self.sources.explicit:
            change_file(self.default, write)
            return
        for file in self.sources.files:
            if file.exists() and read_configuration(Sources((file,))).current_context:
                change_file(file, write)
                return


def only_word(invocation: Invocation) -> str:
    """The only argument of a command; raises CommandFailed."""
    words: list[str] = invocation.options.words
    if len(words) != 1:
        raise wrong_words(words, "one name")
    return words[0]


def wrong_words(words: Sequence[str], wanted: str) -> UsageError:
    return UsageError(f"this takes {wanted}, not {' '.join(words) or 'nothing'}")


def add_words(parser: ArgumentReader, metavar: str) -> None:
    parser.add_argument("words", metavar=metavar, nargs="*")


def delete(invocation: Invocation, section: str) -> int:
    """Remove the entry that the argument names from a section; return the exit code."""
    files, name, what = Files(invocation), only_word(invocation), SECTIONS[section]
    if files.fields(section, name) is None:
        raise CommandFailed(f"error: cannot delete {what} {name}, not in {files.default}")
    files.remove(section, name)
    invocation.screen.print(f"deleted {what} {name} from {files.default}")
    return 0


# Files referenced by entries: embedded as base64, or stored as a path.


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
    entry = files.configuration.entries[section].get(name)
    directory = (files.default if entry is None else entry.origin).absolute().parent
    absolute = os.path.abspath(path)
    relative = os.path.relpath(absolute, directory)
    return absolute if relative.startswith("..") else relative
