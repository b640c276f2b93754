"""The behaviour and columns of PriorityClass; the priority of a name is immutable."""

from __future__ import annotations

from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.model import AGE, NAME, flag, number, since, table, text
from fairlead.resources.context import Context
from fairlead.resources.metadata import check_metadata_update
from fairlead.resources.rules import immutable, one_of

SYSTEM_PREFIX = "system-"
HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {
    "system-node-critical": 2 * HIGHEST_USER_PRIORITY + 1000,
    "system-cluster-critical": 2 * HIGHEST_USER_PRIORITY,
}
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClassBehaviour(Behaviour):
    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Do nothing: the generation stays 1, because the fields that it counts are immutable."""

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        name, priority = value["metadata"].get("name", ""), value["value"]
        if name.startswith(SYSTEM_PREFIX):
            error = _system_class_error(name, priority, bool(value.get("globalDefault")))
            if error:
                causes.forbidden(
                    "metadata.name",
                    "priority class names with 'system-' prefix are reserved for system use only."
                    f" error: {error}",
                )
        elif priority > HIGHEST_USER_PRIORITY:
            detail = "maximum allowed value of a user defined priority is"
            causes.forbidden("value", f"{detail} {HIGHEST_USER_PRIORITY}")
        policy = value.get("preemptionPolicy")
        one_of(policy, PREEMPTION_POLICIES, "preemptionPolicy", causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        if value["value"] != old["value"]:
            causes.forbidden("value", "may not be changed in an update.")
        policy, before = value.get("preemptionPolicy"), old.get("preemptionPolicy")
        immutable(policy, before, "preemptionPolicy", causes)

    def before_delete(self, name: str, propagation: str, context: Context) -> str:
        is_system = name in SYSTEM_CLASSES
        return "this is a system priority class and cannot be deleted" if is_system else ""


def _system_class_error(name: str, priority: int, is_default: bool) -> str:
    expected = SYSTEM_CLASSES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if priority != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


PRINTERS = {
    "scheduling/v1/priorityclasses": table(
        NAME,
        number("Value", "value", "Higher goes first"),
        flag("Global-Default", "globalDefault", "Whether pods without a class get this one"),
        AGE,
        since(36, text("PreemptionPolicy", "preemptionPolicy", "Whether its pods displace others")),
    ),
}
