"""Validation of the taints of nodes."""

from __future__ import annotations

from fairlead.codec.types.names import label_value, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue, quote
from fairlead.resources.core.pods.scheduling import TAINT_EFFECTS
from fairlead.resources.core.shared import duplicate, go_date, go_struct


def check_taints(taints: list[Object] | None, list_path: str, causes: Causes) -> None:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints or ()):
        path = f"{list_path}[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        causes.invalid_each(f"{path}.key", key, qualified_name(key))
        wrong = label_value(value)
        if wrong:
            causes.invalid(f"{path}.value", value, ";".join(wrong))
        if not effect:
            causes.required(f"{path}.effect")
        elif effect not in TAINT_EFFECTS:
            causes.unsupported(f"{path}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            detail = "taints must be unique by key and effect pair"
            duplicate(path, _shown_taint(taint), detail, causes)
        seen.add((key, effect))


def _shown_taint(taint: Object) -> GoValue:
    return go_struct(
        "core.Taint",
        {
            "Key": quote(taint.get("key", "")),
            "Value": quote(taint.get("value", "")),
            "Effect": quote(taint.get("effect", "")),
            "TimeAdded": go_date(taint.get("timeAdded")),
        },
    )
