"""Suggestions for mistyped commands, flags, kinds and names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from fairlead.cli.catalog import COMMANDS, GROUPS, SECTIONS, SERVER_SIDE


def unknown_command(program: str, word: str) -> str:
    """The error text for an unknown command, with up to 3 similar names."""
    names = {*SERVER_SIDE, *GROUPS, "help"}
    names |= {name for commands in SECTIONS.values() for name in commands if " " not in name}
    shown_word = word if word.isprintable() else ascii(word)[1:-1]
    message = f'error: unknown command "{shown_word}" for "{program}"'
    return _with_similar(message, word, names)


def unknown_member(program: str, group: str, word: str) -> str:
    """The same for a command of a group."""
    shown_word = word if word.isprintable() else ascii(word)[1:-1]
    message = f'error: unknown command "{shown_word}" for "{program} {group}"'
    members = {name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{group} ")}
    return _with_similar(message, word, members)


def _with_similar(message: str, word: str, names: Iterable[str]) -> str:
    close = get_close_matches(word, sorted(names), n=3, cutoff=0.6)
    if not close:
        return message
    return "\n".join((message, "", "Did you mean this?", *(f"\t{name}" for name in close)))


def unknown_flag(name: str, flags: Iterable[str]) -> str:
    """The error text for an unknown flag, with a similar one."""
    close = get_close_matches(name, flags, n=1)
    return f"unknown flag {name}" + (f", did you mean {close[0]}?" if close else "")


def similar(word: str, words: Iterable[str]) -> str:
    """A text that names similar words; empty if there are none."""
    return listed(get_close_matches(word, sorted(set(words)), n=3, cutoff=0.65))


def similar_flags(flag: str, flags: Iterable[str]) -> str:
    """The same for a long flag. The dashes, which all have, do not count."""
    names = {name.removeprefix("--") for name in flags if name.startswith("--")}
    close = get_close_matches(flag.removeprefix("--"), sorted(names), n=3, cutoff=0.65)
    return listed([f"--{name}" for name in close])


def listed(words: Sequence[str]) -> str:
    """A text that suggests these words; empty if there are none."""
    return f"did you mean {' or '.join(words)}?" if words else ""
