"""The common behaviour of flow schemas and priority levels."""

from __future__ import annotations

from typing import Any

from fairlead.base.release import Reworded
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.context import Context
from fairlead.resources.flowcontrol.bootstrap import Spec
from fairlead.resources.storage.shared import OrderedBehaviour, Step, same

_EMPTY = Reworded("must not be empty", "")


class FlowControlBehaviour(OrderedBehaviour):
    """An update of `status` changes no metadata except `managedFields`."""

    update_order = (Step.METADATA, Step.RULES)
    mandatory: dict[str, Spec]

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        name, spec = value["metadata"].get("name", ""), value["spec"]
        self.check_spec(name, spec, causes)
        fixed = self.mandatory.get(name)
        if fixed is not None:
            self.check_mandatory(name, spec, fixed, causes)
        _check_conditions(value, causes)

    def check_mandatory(self, name: str, spec: dict[str, Any], fixed: Spec, causes: Causes) -> None:
        if not same(spec, fixed):
            detail = f"spec of '{name}' must equal the fixed value"
            causes.invalid("spec", self.shown_spec(spec), detail)

    def check_spec(self, name: str, spec: dict[str, Any], causes: Causes) -> None:
        raise NotImplementedError

    def shown_spec(self, spec: dict[str, Any]) -> GoValue:
        """A spec as messages print it."""
        raise NotImplementedError

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        tracked = value["metadata"].get("managedFields")
        value["metadata"] = {**old["metadata"]}
        if tracked is not None:
            value["metadata"]["managedFields"] = tracked

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        _check_conditions(value, causes)


def _check_conditions(value: Object, causes: Causes) -> None:
    seen = set()
    for index, condition in enumerate((value.get("status") or {}).get("conditions") or ()):
        kind, path = condition.get("type", ""), f"status.conditions[{index}].type"
        if kind in seen:
            causes.duplicate(path, kind)
        seen.add(kind)
        if not kind:
            causes.required(path, _EMPTY)
