"""The behaviour and columns of Lease: which process leads, and until when."""

from __future__ import annotations

from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.columns.model import AGE, NAME, table, text
from fairlead.resources.context import Context
from fairlead.resources.rules import non_negative, positive


class LeaseBehaviour(Behaviour):
    qualified_finalizers = False

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        positive(spec.get("leaseDurationSeconds"), "spec.leaseDurationSeconds", causes)
        non_negative(spec.get("leaseTransitions"), "spec.leaseTransitions", causes)


PRINTERS = {
    "coordination/v1/leases": table(
        NAME,
        text("Holder", "spec.holderIdentity", "Who holds the lease"),
        AGE,
    ),
}
