"""Lease: who leads, until when."""

from __future__ import annotations

from fairlead.kinds.behaviour import Behaviour, Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.context import Context
from fairlead.kinds.rules import non_negative, positive


class LeaseBehaviour(Behaviour):
    qualified_finalizers = False

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        positive(spec.get("leaseDurationSeconds"), "spec.leaseDurationSeconds", causes)
        non_negative(spec.get("leaseTransitions"), "spec.leaseTransitions", causes)
