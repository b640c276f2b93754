"""The behaviour of ControllerRevision: a snapshot that a controller stores; its data is immutable.

Clients compare the bytes of the data with those of a patch that they make themselves, so the order
of keys must not change either.
"""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.errors import MAX_CAUSE_LENGTH
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes, GoValue, go_composite
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.rules import IMMUTABLE, non_negative


class ControllerRevisionBehaviour(Behaviour):
    def check(self, value: Object, causes: Causes, context: Context) -> None:
        if value.get("data") is None:
            causes.required("data", "data is mandatory")
        non_negative(value["revision"], "revision", causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        metadata = value["metadata"]
        check_metadata_update(metadata, old["metadata"], causes)
        check_metadata(metadata, True, self.name_rule, causes)
        self.check(value, causes, context)
        if orjson.dumps(value.get("data")) != orjson.dumps(old.get("data")):
            causes.invalid("data", _format_data(value.get("data")), IMMUTABLE)


def _format_data(data: Any) -> GoValue | None:
    """Data of an unknown type as messages print it: its bytes."""
    if data is None:
        return None
    raw = ", ".join(f"{byte:#x}" for byte in orjson.dumps(data)[:MAX_CAUSE_LENGTH])
    parts = {
        "TypeMeta": 'runtime.TypeMeta{APIVersion:"", Kind:""}',
        "Raw": f"[]uint8{{{raw}}}",
        "ContentEncoding": '""',
        "ContentType": '"application/json"',
    }
    return go_composite("runtime.Unknown", parts)
