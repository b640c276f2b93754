"""The flow schemas and priority levels that a new cluster gets: the mandatory ones, and the
suggested ones, read from `suggested.table`, which describes its own format.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.files import text_beside
from fairlead.base.release import Release

Spec = dict[str, Any]

EVERYTHING: Spec = {
    "resourceRules": [
        {
            "verbs": ["*"],
            "apiGroups": ["*"],
            "resources": ["*"],
            "clusterScope": True,
            "namespaces": ["*"],
        }
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _groups(*names: str) -> list[Spec]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


# The mandatory objects, without which some requests would match none: their specs are immutable.
FLOW_SCHEMAS: dict[str, Spec] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": _groups("system:masters"), **EVERYTHING}],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [
            {
                "subjects": _groups("system:unauthenticated", "system:authenticated"),
                **EVERYTHING,
            }
        ],
    },
}

PRIORITY_LEVELS: dict[str, Spec] = {
    "exempt": {"type": "Exempt"},
    "catch-all": {
        "type": "Limited",
        "limited": {"assuredConcurrencyShares": 5, "limitResponse": {"type": "Reject"}},
    },
}
NOMINAL_LEVELS: dict[str, Spec] = {  # as flowcontrol/v1 writes them
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": {
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 5,
            "limitResponse": {"type": "Reject"},
            "lendablePercent": 0,
        },
    },
}


def stored_version(release: Release) -> str:
    """The version of the group in which a release stores its objects."""
    return "flowcontrol/v1" if release.minor >= 29 else "flowcontrol/v1beta2"


def mandatory_levels(release: Release) -> dict[str, Spec]:
    return NOMINAL_LEVELS if stored_version(release) == "flowcontrol/v1" else PRIORITY_LEVELS


@dataclass(slots=True)
class Suggested:
    """Specs by name."""

    levels: dict[str, Spec] = field(default_factory=dict)
    schemas: dict[str, Spec] = field(default_factory=dict)


def suggested_objects(dialect: Dialect, release: Release) -> Suggested:
    text = release.select(text_beside(__file__, "suggested.table"))
    names = {"{prefix}": dialect.system_prefix, "{system}": dialect.system_namespace}
    for word, name in names.items():
        text = text.replace(word, name)
    suggested = Suggested()
    rule: Spec = {}
    for line in dialect.group_name(text).splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        match words[0]:
            case "level":
                suggested.levels[words[1]] = _level(*map(int, words[2:]))
            case "schema":
                rule = {}
                suggested.schemas[words[1]] = _schema(rule, *words[2:])
            case "to":
                rule["subjects"] = [_subject(word, dialect) for word in words[1:]]
            case "everything":
                rule.update(EVERYTHING)
            case _:
                _add_rule(rule, words)
    return suggested


def _level(shares: int, queues: int, hand: int, length: int, lendable: int | None = None) -> Spec:
    """A level of flowcontrol/v1, or of an earlier version if it cannot lend."""
    queuing = {"queues": queues, "handSize": hand, "queueLengthLimit": length}
    response = {"type": "Queue", "queuing": queuing}
    if lendable is None:
        limited: Spec = {"assuredConcurrencyShares": shares, "limitResponse": response}
    else:
        limited = {
            "nominalConcurrencyShares": shares,
            "limitResponse": response,
            "lendablePercent": lendable,
        }
    return {"type": "Limited", "limited": limited}


def _schema(rule: Spec, level: str, precedence: str, method: str = "") -> Spec:
    spec: Spec = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": int(precedence),
        "rules": [rule],
    }
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return spec


def _subject(word: str, dialect: Dialect) -> Spec:
    kind, _, name = word.partition(":")
    if kind == "account":
        account = {"namespace": dialect.system_namespace, "name": name}
        return {"kind": "ServiceAccount", "serviceAccount": account}
    return {"kind": kind.title(), kind: {"name": name}}


def _add_rule(rule: Spec, words: list[str]) -> None:
    colon = words.index(":")
    targets, verbs = words[:colon], words[colon + 1 :]
    if targets[0] == "paths":
        rule.setdefault("nonResourceRules", []).append(
            {"verbs": verbs, "nonResourceURLs": targets[1:]}
        )
        return
    resource_rule: Spec = {"verbs": verbs, "namespaces": ["*"]}
    if targets[0] == "cluster":
        resource_rule["clusterScope"] = True
        del targets[0]
    resource_rule["apiGroups"] = ["" if targets[0] == "core" else targets[0]]
    resource_rule["resources"] = targets[1:]
    rule.setdefault("resourceRules", []).append(resource_rule)
