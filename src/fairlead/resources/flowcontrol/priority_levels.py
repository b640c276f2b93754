"""The behaviour of PriorityLevelConfiguration: the concurrency of a level, and its queues."""

from __future__ import annotations

import math
from typing import Any

from fairlead.base.release import Reworded
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.flowcontrol.bootstrap import NOMINAL_LEVELS, PRIORITY_LEVELS, Spec
from fairlead.resources.flowcontrol.shared import FlowControlBehaviour

TYPES = ("Exempt", "Limited")
RESPONSES = ("Queue", "Reject")
MAX_QUEUES = 10_000_000
MAX_HASH_BITS = 60
_EXEMPT_ONLY = Reworded(
    "type must be 'Exempt' if and only if name is 'exempt'",
    "must be 'Exempt' if and only if `name` is 'exempt'",
)


class PriorityLevelBehaviour(FlowControlBehaviour):
    mandatory = PRIORITY_LEVELS

    def check_spec(self, name: str, spec: dict[str, Any], causes: Causes) -> None:
        kind = spec["type"]
        if (name == "exempt") != (kind == "Exempt"):
            causes.invalid("spec.type", kind, _EXEMPT_ONLY)
        self.check_parts(kind, spec, causes)

    def check_parts(self, kind: str, spec: dict[str, Any], causes: Causes) -> None:
        limited = spec.get("limited")
        if kind == "Exempt":
            if limited is not None:
                causes.forbidden("spec.limited", "must be nil if the type is not Limited")
        elif kind != "Limited":
            self.check_unknown("spec.type", kind, TYPES, causes)
        elif limited is None:
            causes.required("spec.limited", "must not be empty when type is Limited")
        else:
            self.check_limited(limited, "spec.limited", causes)

    def check_unknown(self, path: str, kind: str, known: tuple[str, ...], causes: Causes) -> None:
        causes.unsupported(path, kind, known)

    def check_limited(self, limited: dict[str, Any], path: str, causes: Causes) -> None:
        _check_positive(limited, "assuredConcurrencyShares", path, causes)
        self.check_response(limited["limitResponse"], f"{path}.limitResponse", causes)

    def check_response(self, response: dict[str, Any], path: str, causes: Causes) -> None:
        kind, queuing = response["type"], response.get("queuing")
        if kind not in RESPONSES:
            self.check_unknown(f"{path}.type", kind, RESPONSES, causes)
        elif kind == "Reject":
            if queuing is not None:
                detail = "must be nil if limited.limitResponse.type is not Limited"
                causes.forbidden(f"{path}.queuing", detail)
        elif queuing is None:
            detail = "must not be empty if limited.limitResponse.type is Limited"
            causes.required(f"{path}.queuing", detail)
        else:
            _check_queuing(queuing, f"{path}.queuing", causes)

    def shown_spec(self, spec: dict[str, Any]) -> GoValue:
        limited = go_pointer("flowcontrol.LimitedPriorityLevelConfiguration", spec.get("limited"))
        parts = {"Type": quote(spec["type"]), "Limited": limited}
        return go_composite("flowcontrol.PriorityLevelConfigurationSpec", parts)


class NominalLevelBehaviour(PriorityLevelBehaviour):
    """A level of flowcontrol/v1: it lends and borrows, and the exempt level may be changed."""

    mandatory = NOMINAL_LEVELS

    def check_mandatory(self, name: str, spec: dict[str, Any], fixed: Spec, causes: Causes) -> None:
        if name != "exempt":
            super().check_mandatory(name, spec, fixed, causes)
        elif {**spec, "exempt": None} != {**fixed, "exempt": None}:
            detail = "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
            causes.invalid("spec", self.shown_spec(spec), detail)

    def check_unknown(self, path: str, kind: str, known: tuple[str, ...], causes: Causes) -> None:
        if kind:
            super().check_unknown(path, kind, known, causes)
        else:
            causes.required(path)

    def check_parts(self, kind: str, spec: dict[str, Any], causes: Causes) -> None:
        exempt = spec.get("exempt")
        if exempt is not None and kind == "Limited":
            causes.forbidden("spec.exempt", "must be nil if the type is Limited")
        super().check_parts(kind, spec, causes)
        if exempt is not None and kind == "Exempt":
            _check_not_negative(exempt, "nominalConcurrencyShares", "spec.exempt", causes)
            _check_percents(exempt, "spec.exempt", causes)

    def check_limited(self, limited: dict[str, Any], path: str, causes: Causes) -> None:
        _check_not_negative(limited, "nominalConcurrencyShares", path, causes)
        self.check_response(limited["limitResponse"], f"{path}.limitResponse", causes)
        _check_percents(limited, path, causes)
        if (limited.get("borrowingLimitPercent") or 0) < 0:
            detail = "if specified, must be a non-negative integer"
            limit = limited["borrowingLimitPercent"]
            causes.invalid(f"{path}.borrowingLimitPercent", limit, detail)

    def shown_spec(self, spec: dict[str, Any]) -> GoValue:
        limited, exempt = spec.get("limited"), spec.get("exempt")
        if limited is not None:
            response = {"type": "", "queuing": None, **limited["limitResponse"]}
            limited = {**_UNSET_LIMITED, **limited, "limitResponse": response}
        package = "flowcontrol"
        parts = {
            "Type": quote(spec["type"]),
            "Limited": go_pointer(f"{package}.LimitedPriorityLevelConfiguration", limited),
            "Exempt": go_pointer(f"{package}.ExemptPriorityLevelConfiguration", exempt),
        }
        return go_composite(f"{package}.PriorityLevelConfigurationSpec", parts)


_UNSET_LIMITED: dict[str, Any] = {
    "nominalConcurrencyShares": 0,
    "limitResponse": None,
    "lendablePercent": None,
    "borrowingLimitPercent": None,
}


def _check_not_negative(value: dict[str, Any], name: str, path: str, causes: Causes) -> None:
    if (value.get(name) or 0) < 0:
        causes.invalid(f"{path}.{name}", value[name], "must be a non-negative integer")


def _check_percents(value: dict[str, Any], path: str, causes: Causes) -> None:
    percents = value.get("lendablePercent") or 0
    if not 0 <= percents <= 100:
        detail = "must be between 0 and 100, inclusive"
        causes.invalid(f"{path}.lendablePercent", percents, detail)


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
