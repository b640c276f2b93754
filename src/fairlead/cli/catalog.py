"""The client commands by name. The module of a command is imported only when it runs."""

from __future__ import annotations

from typing import NamedTuple


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
        "explain": Listed("KIND[.FIELD...]", "say what a field is for"),
        "events": Listed("", "show what happened"),
        "logs": Listed("POD | KIND/NAME", "show what containers print"),
        "watch": Listed("[KIND...]", "show all changes as they happen"),
        "tree": Listed(_ONE, "show what an object owns, down to the pods"),
        "owners": Listed(_ONE, "show which manager owns each field of an object"),
        "history": Listed(_ONE, "show how an object has changed, and who changed it"),
        "console": Listed("", "open the web console in a browser, signed in"),
    },
    "Change": {
        "create": Listed(_FILES, "create objects"),
        "apply": Listed(_FILES, "make objects be as files say"),
        "diff": Listed(_FILES, "show what apply would change"),
        "edit": Listed(_SOME, "change objects in an editor"),
        "patch": Listed(f"{_ONE} -p PATCH", "change fields of an object"),
        "replace": Listed(_FILES, "put objects in the place of those that are there"),
        "delete": Listed(f"{_SOME} | {_FILES}", "delete objects and wait until they are gone"),
        "label": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove labels"),
        "annotate": Listed(f"{_SOME} KEY=VALUE... KEY-...", "set and remove annotations"),
        "scale": Listed(f"{_SOME} --replicas N", "set how many replicas there shall be"),
        "wait": Listed(f"{_SOME} --for CONDITION", "wait until objects are as they should be"),
        "rollout status": Listed(_ONE, "wait until a rollout is done"),
        "rollout history": Listed(_ONE, "show the revisions of a workload"),
        "rollout undo": Listed(_ONE, "go back to an earlier revision"),
        "rollout restart": Listed(_SOME, "replace all pods of a workload"),
        "rollout pause": Listed(_SOME, "hold a rollout until it is resumed"),
        "rollout resume": Listed(_SOME, "go on with a rollout that is held"),
    },
    "Access": {
        "auth can-i": Listed("VERB KIND [NAME]", "ask whether something is allowed"),
        "auth whoami": Listed("", "show who the server takes you for"),
        "auth why": Listed("VERB KIND [NAME]", "show the rule that allows it, or what is missing"),
        "certificate approve": Listed("NAME...", "approve certificate signing requests"),
        "certificate deny": Listed("NAME...", "deny certificate signing requests"),
        "token create": Listed("SERVICEACCOUNT", "make a token of a service account"),
        "bootstrap-token create": Listed("[TOKEN]", "make a token with which nodes join"),
        "bootstrap-token list": Listed("", "show such tokens"),
        "bootstrap-token delete": Listed("TOKEN-ID...", "remove such tokens"),
    },
    "Server": {
        "api-resources": Listed("", "show what the server serves"),
        "api-versions": Listed("", "show which versions of which groups are served"),
        "raw": Listed("PATH", "send any request and show the answer"),
        "version": Listed("", "show the versions of this command and of the server"),
    },
    "Settings": {
        "config view": Listed("", "show the client configuration"),
        "config get-contexts": Listed("[NAME...]", "show the contexts"),
        "config get-clusters": Listed("", "show the clusters"),
        "config get-users": Listed("", "show the users"),
        "config current-context": Listed("", "show the context that is used"),
        "config use-context": Listed("NAME", "use a context from now on"),
        "config set-context": Listed("NAME | --current", "make or change a context"),
        "config set-cluster": Listed("NAME", "make or change a cluster"),
        "config set-credentials": Listed("NAME", "make or change a user"),
        "config rename-context": Listed("NAME NEW-NAME", "give a context another name"),
        "config delete-context": Listed("NAME", "remove a context"),
        "config delete-cluster": Listed("NAME", "remove a cluster"),
        "config delete-user": Listed("NAME", "remove a user"),
        "config set": Listed("PROPERTY VALUE", "set one value of the configuration"),
        "config unset": Listed("PROPERTY", "remove one value of the configuration"),
        "completion": Listed("bash | zsh | fish", "print what makes a shell complete words"),
    },
}
COMMANDS: dict[str, Listed] = {
    name: listed for section in SECTIONS.values() for name, listed in section.items()
}
GROUPS = frozenset(name.partition(" ")[0] for name in COMMANDS if " " in name)
