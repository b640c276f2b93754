"""The configuration files that the config commands work on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
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
    """What the files say, and changes of them. A file that is named need not be there yet."""

    def __init__(self, at: Invocation) -> None:
        self.sources: Sources = sources_of(at.options.kubeconfig)
        self.said: Configuration = read_configuration(self.sources)

    @property
    def default(self) -> Path:
        """Where something new goes."""
        return self.sources.default

    def names(self, section: str) -> list[str]:
        return sorted(self.said.entries[section])

    def fields(self, section: str, name: str) -> Fields | None:
        """What an entry holds; None if there is none of the name."""
        found = self.said.entries[section].get(name)
        return None if found is None else found.value

    def set(
        self, section: str, name: str, change: Callable[[Fields], None], beside: str = ""
    ) -> bool:
        """Change an entry in the file it is from, or make one, in the file of the one `beside`
        which it is put; gives whether it was there."""
        found = self.said.entries[section].get(name)
        place = found or self.said.entries[section].get(beside)
        path = self.default if place is None else place.origin

        def write(document: Fields) -> None:
            change(entry_in(document, section, name))
            document[section].sort(key=lambda one: str(one.get("name", "")))

        change_file(path, write)
        return found is not None

    def remove(self, section: str, name: str) -> None:
        """Take an entry out of the file it is from."""
        path = self.said.entries[section][name].origin

        def write(document: Fields) -> None:
            document[section] = [
                one for one in document.get(section) or () if one.get("name", "") != name
            ] or None

        change_file(path, write)

    def clear(self, section: str) -> None:
        """Take all entries out of the files they are from."""
        for name in self.names(section):
            self.remove(section, name)

    def use(self, context: str) -> None:
        """Make a context the current one: in the file that is named, or the first that is there.
        None at all is written where one is."""

        def write(document: Fields) -> None:
            document["current-context"] = context

        if context or self.sources.explicit:
            change_file(self.default, write)
            return
        for file in self.sources.files:
            if file.exists() and read_configuration(Sources((file,))).current_context:
                change_file(file, write)
                return


def one_word(at: Invocation) -> str:
    """The only argument of a command; raises CommandFailed."""
    words: list[str] = at.options.words
    if len(words) != 1:
        raise CommandFailed(f"error: Unexpected args: [{' '.join(words)}]")
    return words[0]


def add_words(parser: ArgumentReader, metavar: str) -> None:
    parser.add_argument("words", metavar=metavar, nargs="*")


def delete(at: Invocation, section: str) -> int:
    """Remove a cluster or a user."""
    files, name, what = Files(at), one_word(at), SECTIONS[section]
    if files.fields(section, name) is None:
        raise CommandFailed(f"error: cannot delete {what} {name}, not in {files.default}")
    files.remove(section, name)
    at.screen.print(f"deleted {what} {name} from {files.default}")
    return 0
