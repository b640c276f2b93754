"""The flags that say which server is meant and as whom: they go with every client command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fairlead.cli.arguments import ArgumentReader
from fairlead.client.access.loading import load_access
from fairlead.client.access.model import Access, Impersonation

# Those that take a value: they may also stand in front of the command.
_VALUES: dict[tuple[str, ...], tuple[str, str]] = {
    ("--kubeconfig",): ("FILE", "client configuration file"),
    ("--context",): ("NAME", "context of the configuration that is used"),
    ("-n", "--namespace"): ("NAMESPACE", "namespace that is meant"),
    ("--as",): ("USER", "act as this user"),
}
_REPEATED: dict[tuple[str, ...], tuple[str, str]] = {
    ("--as-group",): ("GROUP", "act as a member of this group; can be given more than once"),
}
VALUED = frozenset(name for names in (*_VALUES, *_REPEATED) for name in names)


def add_connection_flags(parser: ArgumentReader) -> None:
    group = parser.add_argument_group("Which server, and as whom")
    for names, (value, text) in _VALUES.items():
        group.add_argument(*names, metavar=value, help=text)
    for names, (value, text) in _REPEATED.items():
        group.add_argument(*names, metavar=value, help=text, action="append", default=[])


def behind_command(words: Sequence[str]) -> list[str]:
    """Flags of a connection that stand in front of the command go behind it and its words."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in VALUED else 1
    rest = list(words[at:])
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *words[:at], *rest[end:]]


def access_of(options: argparse.Namespace) -> Access:
    """Raises AccessError."""
    who = Impersonation(getattr(options, "as") or "", tuple(options.as_group))
    return load_access(options.kubeconfig, impersonation=who)
