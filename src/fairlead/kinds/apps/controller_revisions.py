"""ControllerRevision: a state that a controller remembers; its data never changes."""

from __future__ import annotations

from fairlead.kinds.behaviour import Behaviour, Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.kinds.metadata import check_metadata, check_metadata_update
from fairlead.kinds.rules import immutable, non_negative


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
        immutable(value.get("data"), old.get("data"), "data", causes)
