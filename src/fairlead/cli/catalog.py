"""The commands by name, the overview of them, and suggestions for mistyped ones. The module of a
command is imported only when it runs."""

from __future__ import annotations

from difflib import get_close_matches
from typing import NamedTuple

_COLUMN = 26


class ServerSide(NamedTuple):
    """A command that runs without a client. Its module, in `fairlead.cli`, has `add_flags` and
    `run`."""

    usage: str
    help: str
    module: str


SERVER_SIDE = {
    "serve": ServerSide("", "run a server", "serve"),
    "backup": ServerSide(
        "FILE", "copy all objects of a server or a storage into a file", "store_copy"
    ),
    "restore": ServerSide(
        "FILE", "fill an empty data directory or etcd from a backup", "store_copy"
    ),
    "migrate": ServerSide(
        "--from STORAGE --to STORAGE | --data-dir DIR",
        "copy all objects from one storage to another, or convert a directory to another format",
        "store_copy",
    ),
    "test-env": ServerSide(
        "[DIRECTORY]",
        "write replacements for the programs of envtest, and print their directory",
        "envtest_programs",
    ),
}


class Listed(NamedTuple):
    usage: str  # the arguments after the name
    help: str


_ONE = "KIND NAME | KIND/NAME"
_SOME = "KIND [NAME...] | KIND/NAME..."
_FILES = "-f FILE"

# "rollout status" is the module commands/rollout/status.py.
SECTIONS: dict[str, dict[str, Listed]] = {
    "Look": {
        "get": Listed(_SOME, "show objects"),
        "describe": Listed(_SOME, "show objects in detail, with their events"),
        "explain": Listed("KIND[.FIELD...]", "describe a kind or a field"),
        "events": Listed("", "show events"),
        "logs": Listed("POD | KIND/NAME", "print the logs of containers"),
        "watch": Listed("[KIND...]", "show all changes as they happen"),
        "tree": Listed(_ONE, "show the objects that an object owns, and theirs"),
        "owners": Listed(_ONE, "show which manager owns each field of an object"),
        "history": Listed(_ONE, "show how an object has changed, and who changed it"),
        "console": Listed("", "open the web console in a browser, signed in"),
    },
    "Change": {
        "create": Listed(_FILES, "create objects"),
        "apply": Listed(_FILES, "create or change objects to match files"),
        "diff": Listed(_FILES, "show what apply would change"),
        "edit": Listed(_SOME, "change objects in an editor"),
        "patch": Listed(f"{_ONE} -p PATCH", "change fields of an object"),
        "replace": Listed(_FILES, "replace existing objects"),
        "delete": Listed(f"{_SOME} | {_FILES}", "delete objects and wait until they are gone"),
        "label": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove labels"),
        "annotate": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove annotations"),
        "scale": Listed(f"{_SOME} --replicas N", "set the number of replicas"),
        "wait": Listed(f"{_SOME} --for CONDITION", "wait until objects meet a condition"),
        "rollout status": Listed(_ONE, "wait until a rollout is complete"),
        "rollout history": Listed(_ONE, "show the revisions of a workload"),
        "rollout undo": Listed(_ONE, "roll back to an earlier revision"),
        "rollout restart": Listed(_SOME, "replace all pods of a workload"),
        "rollout pause": Listed(_SOME, "pause a rollout"),
        "rollout resume": Listed(_SOME, "resume a paused rollout"),
    },
    "Access": {
        "auth can-i": Listed("VERB KIND [NAME]", "check whether an action is allowed"),
        "auth whoami": Listed("", "show the user that the server authenticates you as"),
        "auth why": Listed(
            "VERB KIND [NAME]", "show the rule that allows an action, or what is missing"
        ),
        "certificate approve": Listed("NAME...", "approve certificate signing requests"),
        "certificate deny": Listed("NAME...", "deny certificate signing requests"),
        "token create": Listed("SERVICEACCOUNT", "create a token for a service account"),
        "bootstrap-token create": Listed("[TOKEN]", "create a token for nodes to join"),
        "bootstrap-token list": Listed("", "list bootstrap tokens"),
        "bootstrap-token delete": Listed("TOKEN-ID...", "delete bootstrap tokens"),
    },
    "Server": {
        "api-resources": Listed("", "list the resources that the server serves"),
        "api-versions": Listed("", "list the API versions that the server serves"),
        "raw": Listed("PATH", "send a request and print the answer"),
        "version": Listed("", "print the versions of this command and of the server"),
    },
    "Settings": {
        "config view": Listed("", "show the client configuration"),
        "config get-contexts": Listed("[NAME...]", "show the contexts"),
        "config get-clusters": Listed("", "show the clusters"),
        "config get-users": Listed("", "show the users"),
        "config current-context": Listed("", "show the current context"),
        "config use-context": Listed("NAME", "set the current context"),
        "config set-context": Listed("NAME | --current", "create or change a context"),
        "config set-cluster": Listed("NAME", "create or change a cluster"),
        "config set-credentials": Listed("NAME", "create or change a user"),
        "config rename-context": Listed("NAME NEW-NAME", "rename a context"),
        "config delete-context": Listed("NAME", "delete a context"),
        "config delete-cluster": Listed("NAME", "delete a cluster"),
        "config delete-user": Listed("NAME", "delete a user"),
        "config set": Listed("PROPERTY VALUE", "set one value of the configuration"),
        "config unset": Listed("PROPERTY", "remove one value of the configuration"),
        "completion": Listed("bash | zsh | fish", "print a completion script for a shell"),
    },
}
COMMANDS: dict[str, Listed] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
GROUPS = frozenset(name.partition(" ")[0] for name in COMMANDS if " " in name)


def overview(program: str) -> str:
    """The help text of all commands, made without importing any of them."""
    lines = [
        "A Kubernetes-style cluster API server, and the command line of its users.",
        "",
        f"Usage: {program} COMMAND [FLAGS]",
        "",
        "Run a server:",
        *(_line(name, listed.help) for name, listed in SERVER_SIDE.items()),
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
    names = {*SERVER_SIDE, *GROUPS, "help"}
    names |= {name for commands in SECTIONS.values() for name in commands if " " not in name}
    shown_word = word if word.isprintable() else ascii(word)[1:-1]
    message = f'error: unknown command "{shown_word}" for "{program}"'
    close = get_close_matches(word, sorted(names), n=3, cutoff=0.6)
    if not close:
        return message
    return "\n".join((message, "", "Did you mean this?", *(f"\t{name}" for name in close)))
