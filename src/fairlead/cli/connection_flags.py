"""The connection flags of every client command: which server, with which credentials."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.catalog import COMMANDS, GROUPS, module_of
from fairlead.cli.errors import UsageError
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import Access
from fairlead.codec.types.durations import DurationError, parse_duration

# Flags with a value. They may also precede the command.
_VALUES: dict[tuple[str, ...], tuple[str, str]] = {
    ("--kubeconfig",): ("FILE", "client configuration file"),
    ("--context",): ("NAME", "context to use"),
    ("--cluster",): ("NAME", "cluster to use"),
    ("--user",): ("NAME", "user to use"),
    ("-n", "--namespace"): ("NAMESPACE", "namespace of the request"),
    ("-s", "--server"): ("URL", "URL of the server"),
    ("--certificate-authority",): ("FILE", "CA bundle for the server's certificate"),
    ("--tls-server-name",): ("NAME", "name that the server's certificate must be valid for"),
    ("--token",): ("TOKEN", "bearer token for authentication"),
    ("--username",): ("NAME", "name for basic authentication"),
    ("--password",): ("PASSWORD", "password for basic authentication"),
    ("--client-certificate",): ("FILE", "client certificate for authentication"),
    ("--client-key",): ("FILE", "key of the client certificate"),
    ("--as",): ("USER", "act as this user"),
    ("--as-uid",): ("UID", "act as a user with this uid, in the dialect kubernetes"),
    ("--request-timeout",): ("TIME", "timeout of a request, such as 5s or 2m; 0 for none"),
}
_REPEATED: dict[tuple[str, ...], tuple[str, str]] = {
    ("--as-group",): ("GROUP", "act as a member of this group; can be repeated"),
}
VALUED = frozenset(name for names in (*_VALUES, *_REPEATED) for name in names)
_INSECURE = "--insecure-skip-tls-verify"
_CLUSTER_FIELDS = ("server", "certificate-authority", "tls-server-name", "insecure-skip-tls-verify")
_USER_FIELDS = ("token", "username", "password", "client-certificate", "client-key", "as", "as-uid")
_STDIN_READER = "a manifest is read from standard input already"


def add_connection_flags(parser: ArgumentReader) -> None:
    """Add the connection flags, skipping names that the command itself defines."""
    if parser.unused(("--color",)):
        parser.add_choice(
            "--color",
            bare="always",
            metavar="=auto|always|never",
            default="auto",
            help="when to use colours; auto: on a terminal, unless NO_COLOR is set",
        )
    parser.begin_section("Server and credentials")
    for names, (value, text) in _VALUES.items():
        if free := parser.unused(names):
            parser.add_argument(*free, metavar=value, help=text)
    for names, (value, text) in _REPEATED.items():
        parser.add_argument(*names, metavar=value, help=text, action="append", default=[])
    if free := parser.unused((_INSECURE,)):
        parser.add_switch(*free, help="do not verify the server's certificate")


def subcommand_first(words: Sequence[str]) -> list[str]:
    """Move flags behind the subcommand that they precede: `apply -n a view-last-applied`."""
    command, *rest = words
    if command in GROUPS:
        return [command, *move_flags_to_end(rest)]
    if not any(f"{command} {word}" in COMMANDS for word in rest[1:]):
        return [*words]
    reader = ArgumentReader(words=rest)  # only the flags of the command say which take a value
    import_module(module_of(command)).add_flags(reader)
    add_connection_flags(reader)
    moved = move_flags_to_end(rest, reader.valued())
    return [command, *moved] if f"{command} {moved[0]}" in COMMANDS else [*words]


def move_flags_to_end(words: Sequence[str], valued: Collection[str] = VALUED) -> list[str]:
    """Move flags from before the command to the end of its words (before `--`). The flags in
    `valued` take the next word as their value."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] in valued else 1
    rest = list(words[index:])
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *words[:index], *rest[end:]]


def access_of(options: Options) -> Access:
    """Raises AccessError and UsageError."""
    values = {name.replace("_", "-"): value for name, value in vars(options).items()}
    return load_access(
        options.kubeconfig,
        context=options.context or "",
        cluster=options.cluster or "",
        user=options.user or "",
        namespace=options.namespace or "",
        cluster_fields={name: values[name] for name in _CLUSTER_FIELDS},
        user_fields={
            **{name: values[name] for name in _USER_FIELDS},
            "as-groups": options.as_group,
        },
        timeout=_seconds(options.request_timeout or "0"),
        stdin_taken=_STDIN_READER if "-" in (values.get("filename") or ()) else "",
    )


def _seconds(text: str) -> float | None:
    """Parse whole seconds or a duration; None for no limit. Raises UsageError."""
    try:
        return parse_duration(f"{text}s" if text.isascii() and text.isdigit() else text) or None
    except DurationError:
        raise UsageError(
            "--request-timeout takes a number of seconds, or a time such as 90s, 2m or 3h"
        ) from None
