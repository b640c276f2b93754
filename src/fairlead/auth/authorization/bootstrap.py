"""The roles and bindings of a fresh server, read from `bootstrap.table`.

A line that is not indented starts a role:

    clusterrole NAME [to=ROLE...] [from=ROLE]
    role NAME in system|public

`to=` labels it for aggregation into that role, `from=` makes it that aggregated role. The indented
lines below it:

    bound [as NAME] to SUBJECT...       a binding with the role's name, or another
    GROUP[+GROUP...] RESOURCE... : VERB...
    paths PATH... : VERB...
    events                              permission to record events
    if GATE RULE                        a rule that depends on a feature gate

Lines and words carry marks of releases (`base/release.py`).

A subject is `user:`, `group:` or `account:` (of the system namespace) and a name, or `nobody`.
`core` is the group with the empty name. The last resource of a rule may have names:
`configmaps[a,b]`. `read` stands for the verbs get, list and watch, `write` for the other five of a
collection, `all` for both. `@` is the dialect's group domain; words in braces are other names of
the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fairlead.auth.authorization.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from fairlead.auth.authorization.rules import Rule
from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.codec.types.model import Object as Object
from fairlead.resources.gates import Gates

_READ_VERBS = ("get", "list", "watch")
_WRITE_VERBS = ("create", "delete", "deletecollection", "patch", "update")
_VERBS = {"read": _READ_VERBS, "write": _WRITE_VERBS, "all": _READ_VERBS + _WRITE_VERBS}
_EVENTS = "core+events.@ events : create patch update"
_NAMED = re.compile(r"(.*)\[(.*)\]")


def autoupdate_annotation(dialect: Dialect) -> str:
    """The annotation that, set to `false`, excludes a bootstrap object from reconciliation."""
    return dialect.label("rbac.authorization.@/autoupdate")


def bootstrap_objects(
    dialect: Dialect, gates: Gates | None = None, additional: str = ""
) -> list[tuple[str, Object]]:
    """All bootstrap objects with the internal names of their resources, without kind and
    apiVersion. `additional` are more lines of the table."""
    gates = gates or Gates()
    text = gates.release.select(text_beside(__file__, "bootstrap.table") + additional)
    return list(_Reader(dialect, gates).read(text))


def bootstrap_rules(dialect: Dialect, cluster_role: str, gates: Gates | None = None) -> list[Rule]:
    """The rules of one ClusterRole in the table."""
    for key, value in bootstrap_objects(dialect, gates):
        if key == CLUSTER_ROLES and value["metadata"]["name"] == cluster_role:
            rules: list[Rule] = value["rules"]
            return rules
    raise KeyError(cluster_role)


class _Reader:
    def __init__(self, dialect: Dialect, gates: Gates) -> None:
        self._dialect = dialect
        self._gates = gates
        self._api_group = dialect.group_name("rbac.authorization.@")
        self._namespaces = {
            "system": dialect.system_namespace,
            "public": dialect.public_namespace,
        }
        self._words = _dialect_words(dialect)
        self._role: Object = {}

    def read(self, text: str) -> Iterator[tuple[str, Object]]:
        for line in self._fill_in(text).splitlines():
            words = line.split()
            if not words or words[0] == "#":
                continue
            if not line.startswith(" "):
                self._role = self._open(words)
                yield (CLUSTER_ROLES if words[0] == "clusterrole" else ROLES), self._role
            elif words[0] == "bound":
                namespaced = "namespace" in self._role["metadata"]
                key = ROLE_BINDINGS if namespaced else CLUSTER_ROLE_BINDINGS
                yield key, self._binding(words[1:])
            else:
                self._add_rule(words)

    def _fill_in(self, text: str) -> str:
        text = self._dialect.group_name(text)
        return re.sub(r"\{([a-z-]+)\}", lambda match: self._words[match[1]], text)

    def _open(self, words: list[str]) -> Object:
        kind, name, *marks = words
        namespace = self._namespaces[marks[1]] if kind == "role" else ""
        role: Object = {"metadata": self._metadata(name, namespace), "rules": None}
        for mark in marks if kind == "clusterrole" else ():
            keyword, _, other = mark.partition("=")
            label = self._dialect.group_name(f"rbac.authorization.@/aggregate-to-{other}")
            if keyword == "to":
                role["metadata"]["labels"][label] = "true"
            else:
                role["aggregationRule"] = {
                    "clusterRoleSelectors": [{"matchLabels": {label: "true"}}]
                }
        return role

    def _metadata(self, name: str, namespace: str) -> Object:
        metadata: Object = {"name": name}
        if namespace:
            metadata["namespace"] = namespace
        metadata["labels"] = {self._dialect.label("@/bootstrapping"): "rbac-defaults"}
        metadata["annotations"] = {autoupdate_annotation(self._dialect): "true"}
        return metadata

    def _binding(self, words: list[str]) -> Object:
        metadata = self._role["metadata"]
        namespace = metadata.get("namespace", "")
        name = words[1] if words[0] == "as" else metadata["name"]
        subjects = [self._subject(word) for word in words[words.index("to") + 1 :]]
        binding: Object = {"metadata": self._metadata(name, namespace)}
        if subjects != [None]:
            binding["subjects"] = subjects
        kind = "Role" if namespace else "ClusterRole"
        binding["roleRef"] = {"apiGroup": self._api_group, "kind": kind, "name": metadata["name"]}
        return binding

    def _subject(self, word: str) -> Object | None:
        kind, _, name = word.partition(":")
        match kind:
            case "user" | "group":
                return {"kind": kind.title(), "apiGroup": self._api_group, "name": name}
            case "account":
                namespace = self._namespaces["system"]
                return {"kind": "ServiceAccount", "name": name, "namespace": namespace}
        return None

    def _add_rule(self, words: list[str]) -> None:
        if words[0] == "if":
            if not self._gates[words[1]]:
                return
            words = words[2:]
        if words == ["events"]:
            words = self._fill_in(_EVENTS).split()
        colon = words.index(":")
        groups, targets, verbs = words[0], words[1:colon], words[colon + 1 :]
        rule: Rule = {"verbs": _verbs(verbs)}
        if groups == "paths":
            rule["nonResourceURLs"] = targets
        else:
            rule["apiGroups"] = ["" if group == "core" else group for group in groups.split("+")]
            named = _NAMED.fullmatch(targets[-1])
            rule["resources"] = [*targets[:-1], named[1]] if named else targets
            if named:
                rule["resourceNames"] = named[2].split(",")
        self._role["rules"] = [*(self._role["rules"] or ()), rule]


def _verbs(words: list[str]) -> list[str]:
    return sorted(verb for word in words for verb in _VERBS.get(word, (word,)))


def _dialect_words(dialect: Dialect) -> dict[str, str]:
    signers = {
        "client": dialect.signer_client,
        "client-node": dialect.signer_client_node,
        "node-serving": dialect.signer_node_serving,
        "legacy": dialect.signer_legacy,
    }
    words = {word: signer.partition("/")[2] for word, signer in signers.items()}
    words["signers"] = dialect.signer_client.partition("/")[0]
    words["agent"] = dialect.node_agent
    words["prefix"] = dialect.system_prefix
    return words
