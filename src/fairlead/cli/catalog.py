"""The commands by name, and the overview of them. The module of a command is imported only when it
runs."""

from collections.abc import Sequence
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
    "install-service": ServerSide(
        "[--user] [-- FLAGS]", "write a service of systemd that runs a server", "install_service"
    ),
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
    "check": ServerSide(
        "[--data-dir DIR | --storage etcd | --kubeconfig FILE]",
        "say what is wrong with a store or a running server",
        "check",
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

SECTIONS: dict[str, dict[str, Listed]] = {
    "Look": {
        "get": Listed(_SOME, "show objects"),
        "describe": Listed(_SOME, "show objects in detail, with their events"),
        "explain": Listed("KIND[.FIELD...]", "describe a kind or a field"),
        "events": Listed("", "show events"),
        "logs": Listed("POD | KIND/NAME", "print the logs of containers"),
        "exec": Listed("POD | KIND/NAME -- COMMAND [ARGUMENT...]", "run a command in a container"),
        "attach": Listed("POD | KIND/NAME", "connect with the command that a container runs"),
        "cp": Listed("SOURCE TARGET", "copy files to and from containers, as POD:PATH"),
        "port-forward": Listed(
            "POD | KIND/NAME [LOCAL:]PORT...", "forward local ports to the ports of a pod"
        ),
        "debug": Listed(
            "POD | node/NAME --image IMAGE", "look inside of a pod or a node with a new container"
        ),
        "top nodes": Listed("[NAME]", "show what nodes use of processors and memory"),
        "top pods": Listed("[NAME]", "show what pods use of processors and memory"),
        "watch": Listed("[KIND...]", "show all changes as they happen"),
        "tree": Listed(_ONE, "show the objects that an object owns, and theirs"),
        "owners": Listed(_ONE, "show which manager owns each field of an object"),
        "history": Listed(_ONE, "show how an object has changed, and who changed it"),
        "console": Listed("", "open the web console in a browser, signed in"),
    },
    "Change": {
        "create": Listed(_FILES, "create objects"),
        "run": Listed("NAME --image IMAGE [-- ARGUMENT...]", "create a pod from an image"),
        "expose": Listed(f"{_ONE} [--port PORT]", "create a service for the pods of an object"),
        "apply": Listed(_FILES, "create or change objects to match files"),
        "apply view-last-applied": Listed(
            f"{_SOME} | {_FILES}", "show what apply --client-side applied last"
        ),
        "apply set-last-applied": Listed(
            _FILES, "record files as what apply --client-side applied last"
        ),
        "apply edit-last-applied": Listed(
            f"{_SOME} | {_FILES}", "edit the record of what apply --client-side applied last"
        ),
        "kustomize": Listed("[FOLDER]", "print the objects of a kustomization"),
        "diff": Listed(_FILES, "show what apply would change"),
        "edit": Listed(_SOME, "change objects in an editor"),
        "patch": Listed(f"{_ONE} -p PATCH", "change fields of an object"),
        "replace": Listed(_FILES, "replace existing objects"),
        "delete": Listed(f"{_SOME} | {_FILES}", "delete objects and wait until they are gone"),
        "label": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove labels"),
        "annotate": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove annotations"),
        "scale": Listed(f"{_SOME} --replicas N", "set the number of replicas"),
        "autoscale": Listed(f"{_SOME} --max N", "create an autoscaler of a workload"),
        "set image": Listed(f"{_SOME} CONTAINER=IMAGE...", "set the images of containers"),
        "set env": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and list environment variables"),
        "set resources": Listed(f"{_SOME} --limits | --requests", "set what containers may use"),
        "set serviceaccount": Listed(f"{_SOME} NAME", "set the service account of pods"),
        "set selector": Listed("service NAME KEY=VALUE", "set the selector of a Service"),
        "set subject": Listed("KIND NAME --user NAME", "add users and groups to a binding"),
        "cordon": Listed("NODE...", "keep new pods away from nodes"),
        "uncordon": Listed("NODE...", "let pods be placed on nodes again"),
        "drain": Listed("NODE...", "remove the pods of nodes"),
        "taint": Listed("nodes NAME KEY=VALUE:EFFECT...", "set and remove taints of nodes"),
        "wait": Listed(f"{_SOME} --for CONDITION", "wait until objects meet a condition"),
        "rollout status": Listed(_ONE, "wait until a rollout is complete"),
        "rollout history": Listed(_ONE, "show the revisions of a workload"),
        "rollout undo": Listed(_ONE, "roll back to an earlier revision"),
        "rollout restart": Listed(_SOME, "replace all pods of a workload"),
        "rollout pause": Listed(_SOME, "pause a rollout"),
        "rollout resume": Listed(_SOME, "resume a paused rollout"),
        "simulate node": Listed(
            "NAME... | -l LABELS | --all", "make simulated nodes fail, reboot and recover"
        ),
    },
    "Access": {
        "auth can-i": Listed("VERB KIND [NAME]", "check whether an action is allowed"),
        "auth whoami": Listed("", "show the user that the server authenticates you as"),
        "auth reconcile": Listed(
            _FILES, "add missing permissions and subjects to roles and bindings"
        ),
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
        "cluster-info": Listed("[dump]", "show where the server and its services are"),
        "api-resources": Listed("", "list the resources that the server serves"),
        "api-versions": Listed("", "list the API versions that the server serves"),
        "proxy": Listed("", "serve the API on a local port, with your credentials"),
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
        "plugin list": Listed("", "list the plugins on the PATH"),
        "options": Listed("", "list the flags of every command"),
        "completion": Listed("bash | zsh | fish", "print a completion script for a shell"),
    },
}
COMMANDS: dict[str, Listed] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
# Other names of commands.
SYNONYMS = {
    "top node": "top nodes",
    "top no": "top nodes",
    "top pod": "top pods",
    "top po": "top pods",
}
GROUPS = frozenset(name.partition(" ")[0] for name in COMMANDS if " " in name) - COMMANDS.keys()


def command_of(words: Sequence[str]) -> str:
    """The command at the start of these words. It may be unknown."""
    pair = " ".join(words[:2])
    pair = SYNONYMS.get(pair, pair)
    return pair if pair in COMMANDS or words[0] in GROUPS else words[0]


def module_of(name: str) -> str:
    """The module of a command: commands/rollout/status.py, and apply_view_last_applied.py beside
    the command `apply`."""
    separator = "_" if name.partition(" ")[0] in COMMANDS else "."
    return f"fairlead.cli.commands.{name.replace(' ', separator).replace('-', '_')}"


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
