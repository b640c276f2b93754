"""The mandatory flow schemas and priority levels, without which some requests would match none:
their specs are immutable.
"""

from __future__ import annotations

from typing import Any

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
