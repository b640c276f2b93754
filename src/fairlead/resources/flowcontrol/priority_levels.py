"""The behaviour of PriorityLevelConfiguration: the concurrency of a level, and its queues."""

from __future__ import annotations

import math
from typing import Any

from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.core.shared import go_struct
from fairlead.resources.flowcontrol.bootstrap import PRIORITY_LEVELS
from fairlead.resources.flowcontrol.shared import FlowControlBehaviour
from fairlead.resources.storage.shared import go_pointer

TYPES = ("Exempt", "Limited")
RESPONSES = ("Queue", "Reject")
MAX_QUEUES = 10_000_000
MAX_HASH_BITS = 60


class PriorityLevelBehaviour(FlowControlBehaviour):
    mandatory = PRIORITY_LEVELS

    def check_spec(self, name: str, spec: dict[str, Any], causes: Causes) -> None:
        kind, limited = spec["type"], spec.get("limited")
        if (name == "exempt") != (kind == "Exempt"):
            detail = "type must be 'Exempt' if and only if name is 'exempt'"
            causes.invalid("spec.type", kind, detail)
        if kind == "Exempt":
            if limited is not None:
                causes.forbidden("spec.limited", "must be nil if the type is not Limited")
        elif kind != "Limited":
            causes.unsupported("spec.type", kind, TYPES)
        elif limited is None:
            causes.required("spec.limited", "must not be empty when type is Limited")
        else:
            _check_limited(limited, "spec.limited", causes)

    def shown_spec(self, spec: dict[str, Any]) -> GoValue:
        limited = go_pointer("flowcontrol.LimitedPriorityLevelConfiguration", spec.get("limited"))
        parts = {"Type": quote(spec["type"]), "Limited": limited}
        return go_struct("flowcontrol.PriorityLevelConfigurationSpec", parts)


def _check_limited(limited: dict[str, Any], path: str, causes: Causes) -> None:
    _check_positive(limited, "assuredConcurrencyShares", path, causes)
    response, path = limited["limitResponse"], f"{path}.limitResponse"
    kind, queuing = response["type"], response.get("queuing")
    if kind not in RESPONSES:
        causes.unsupported(f"{path}.type", kind, RESPONSES)
    elif kind == "Reject":
        if queuing is not None:
            detail = "must be nil if limited.limitResponse.type is not Limited"
            causes.forbidden(f"{path}.queuing", detail)
    elif queuing is None:
        detail = "must not be empty if limited.limitResponse.type is Limited"
        causes.required(f"{path}.queuing", detail)
    else:
        _check_queuing(queuing, f"{path}.queuing", causes)


def _check_queuing(queuing: dict[str, int], path: str, causes: Causes) -> None:
    _check_positive(queuing, "queueLengthLimit", path, causes)
    queues, hand = queuing["queues"], queuing["handSize"]
    _check_positive(queuing, "queues", path, causes)
    if queues > MAX_QUEUES:
        causes.invalid(f"{path}.queues", queues, f"must not be greater than {MAX_QUEUES}")
    _check_positive(queuing, "handSize", path, causes)
    if hand <= 0:
        return
    if hand > queues:
        detail = f"should not be greater than queues ({queues})"
        causes.invalid(f"{path}.handSize", hand, detail)
    elif math.ceil(math.log2(queues) * hand) > MAX_HASH_BITS:
        detail = (
            f"required entropy bits of deckSize {queues} and handSize {hand}"
            f" should not be greater than {MAX_HASH_BITS}"
        )
        causes.invalid(f"{path}.handSize", hand, detail)


def _check_positive(value: dict[str, Any], name: str, path: str, causes: Causes) -> None:
    if value[name] <= 0:
        causes.invalid(f"{path}.{name}", value[name], "must be positive")
