"""Which requests `proxy` passes on: by path, method and the name by which the client calls us."""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple
from urllib.parse import unquote

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.errors import CommandError

# The flags, and their regular expressions by default.
DEFAULTS = {
    "--accept-paths": (r"^.*", "paths that are passed on"),
    "--reject-paths": (
        r"^/api/.*/pods/.*/exec,^/api/.*/pods/.*/attach",
        "paths that are refused",
    ),
    "--accept-hosts": (
        r"^localhost$,^127\.0\.0\.1$,^\[::1\]$",
        "names of this host that clients may call it by",
    ),
    "--reject-methods": (r"^$", "methods that are refused"),
}


class Filter(NamedTuple):
    accept_paths: tuple[re.Pattern[str], ...]
    reject_paths: tuple[re.Pattern[str], ...]
    accept_hosts: tuple[re.Pattern[str], ...]
    reject_methods: tuple[re.Pattern[str], ...]

    def refusal(self, method: str, path: str, host: str) -> str:
        """Why a request is refused, "" if it is passed on. A path counts as it is written and as
        servers read it."""
        paths = {path, plain_path(path)}
        if not _any(self.accept_hosts, host_name(host)):
            return f"the host {host_name(host)} is not accepted"
        if _any(self.reject_methods, method):
            return f"the method {method} is rejected"
        for form in paths:
            if _any(self.reject_paths, form) or not _any(self.accept_paths, form):
                return f"the path {form} is rejected"
        return ""


def _any(patterns: tuple[re.Pattern[str], ...], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


def plain_path(path: str) -> str:
    """The path without escapes, repeated slashes and dots."""
    return "/" + posixpath.normpath(unquote(path)).lstrip("/")


def host_name(host: str) -> str:
    """The name in a Host header, without the port; an IPv6 address stays in brackets."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def add_filter_flags(parser: ArgumentReader) -> None:
    for name, (default, text) in DEFAULTS.items():
        parser.add_argument(
            name,
            metavar="REGEX,...",
            default=default,
            help=f"{text}, by regular expressions",
        )


def filter_of(options: Options) -> Filter:
    """Raises CommandError."""
    fields = (name[2:].replace("-", "_") for name in DEFAULTS)
    return Filter(*(_patterns(name, getattr(options, name)) for name in fields))


def _patterns(name: str, text: str) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(re.compile(part) for part in text.split(",") if part)
    except re.error as error:
        raise CommandError(f"--{name.replace('_', '-')}: {error}") from None
