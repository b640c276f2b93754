"""Shared by several groups: behaviours with their own order of checks on update."""

from __future__ import annotations

from enum import Enum
from typing import Any

from fairlead.resources.behaviour import Behaviour, Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.metadata import NameRule, check_metadata


class Step(Enum):
    """A part of the check of an update; a kind runs a selection of them, in its own order."""

    METADATA = "the metadata as of a new object"
    METADATA_CHANGE = "what of the metadata may change"
    RULES = "the rules of the kind"
    CHANGE = "what else may change"


class OrderedBehaviour(Behaviour):
    """A behaviour with its own order of checks on update. Causes are listed in that order, and
    again each time that a step runs."""

    update_order: tuple[Step, ...] = (Step.METADATA_CHANGE, Step.RULES, Step.CHANGE)
    once_order: tuple[Step, ...] = ()  # in releases with CheckedOnce, if it differs

    def name_rule_of(self, value: Object) -> NameRule:
        """The syntax of the object's name, for kinds in which it depends on the object."""
        return self.name_rule

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        self.check_own_metadata(value, causes)
        self.check(value, causes, context)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        has_once = self.once_order and context.gates["CheckedOnce"]
        for step in self.once_order if has_once else self.update_order:
            match step:
                case Step.METADATA:
                    self.check_own_metadata(value, causes)
                case Step.METADATA_CHANGE:
                    self.check_metadata_change(value, old, causes)
                case Step.RULES:
                    self.check_again(value, old, causes, context)
                case Step.CHANGE:
                    self.check_change(value, old, causes, context)

    def check_own_metadata(self, value: Object, causes: Causes) -> None:
        check_metadata(
            value["metadata"],
            self.resource.namespaced,
            self.name_rule_of(value),
            causes,
            qualified=self.qualified_finalizers,
        )

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        """Check the rules on update; kinds override this to tolerate violations in the old
        object."""
        self.check(value, causes, context)


# The metadata that `keep_metadata` keeps.
_STATUS_KEEPS = ("labels", "annotations", "finalizers", "ownerReferences")


def keep_metadata(value: Object, old: Object) -> None:
    """Undo changes of the metadata, for kinds in which a write to `status` cannot make them."""
    for name in _STATUS_KEEPS:
        keep(value["metadata"], old["metadata"], name)


def same(value: Any, old: Any) -> bool:
    """Whether two values are equal; an empty list equals an absent list."""
    if isinstance(value, dict) and isinstance(old, dict):
        return all(same(value.get(name), old.get(name)) for name in {*value, *old})
    if isinstance(value, list) and isinstance(old, list) and len(value) == len(old):
        return all(same(item, other) for item, other in zip(value, old, strict=True))
    return bool(value == old or (value in (None, []) and old in (None, [])))
