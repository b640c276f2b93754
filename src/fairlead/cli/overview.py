"""The overview of all commands, and suggestions for mistyped ones."""

from __future__ import annotations

from fairlead.cli.catalog import GROUPS, SECTIONS

# The server-side commands: arguments and help text.
SERVER_SIDE = {
    "serve": ("", "run a server"),
    "backup": ("FILE", "copy all objects of a server or a storage into a file"),
    "restore": ("FILE", "fill an empty data directory or etcd from a backup"),
    "migrate": ("--from STORAGE --to STORAGE", "copy all objects from one storage to another"),
    "test-env": (
        "[DIRECTORY]",
        "write replacements for the programs of envtest, and print their directory",
    ),
}
_COLUMN = 26


def overview(program: str) -> str:
    """The help text of all commands, made without importing any of them."""
    lines = [
        "A Kubernetes-style cluster API server, and the command line of its users.",
        "",
        f"Usage: {program} COMMAND [FLAGS]",
        "",
        "Run a server:",
        *(_line(name, text) for name, (_, text) in SERVER_SIDE.items()),
    ]
    for section, commands in SECTIONS.items():
        lines += ["", f"{section}:"]
        lines += [_line(name, listed.help) for name, listed in commands.items()]
    lines += [
        "",
        f"{program} COMMAND --help describes a command, {program} --version the version.",
    ]
    return "\n".join(lines)


def _line(name: str, text: str) -> str:
    return f"  {name:<{_COLUMN}}{text}"


def unknown_command(program: str, word: str) -> str:
    """The error text for an unknown command, with up to 3 similar names."""
    from difflib import get_close_matches

    known = {*SERVER_SIDE, *GROUPS, "help"}
    known |= {name for commands in SECTIONS.values() for name in commands if " " not in name}
    shown = word if word.isprintable() else ascii(word)[1:-1]
    said = f'error: unknown command "{shown}" for "{program}"'
    close = get_close_matches(word, sorted(known), n=3, cutoff=0.6)
    if not close:
        return said
    return "\n".join((said, "", "Did you mean this?", *(f"\t{name}" for name in close)))
