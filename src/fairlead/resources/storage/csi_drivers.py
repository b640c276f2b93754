"""The behaviour of CSIDriver: what a volume driver requires of the cluster."""

from __future__ import annotations

from typing import Any

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.go_values import go_list
from fairlead.resources.rules import IMMUTABLE, immutable
from fairlead.resources.storage.shared import OrderedBehaviour, Step, same

SELINUX_GATE = "SELinuxMountReadWriteOncePod"
FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
SHORTEST_TOKEN = 600
LONGEST_TOKEN = 2**32

# A change of one of these fields increments the generation; other fields are immutable or do not
# count.
_COUNTED = ("tokenRequests", "requiresRepublish", "seLinuxMount")


class CSIDriverBehaviour(OrderedBehaviour):
    update_order = (Step.METADATA_CHANGE, Step.RULES, Step.CHANGE)

    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
        if context.gates[SELINUX_GATE] and spec.get("seLinuxMount") is None:
            spec["seLinuxMount"] = False

    def prepare_create(self, value: Object, context: Context) -> None:
        if not context.gates[SELINUX_GATE]:
            value["spec"].pop("seLinuxMount", None)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        if not context.gates[SELINUX_GATE] and before.get("seLinuxMount") is None:
            spec.pop("seLinuxMount", None)
        if any(not same(spec.get(name), before.get(name)) for name in _COUNTED):
            value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        policy = spec.get("fsGroupPolicy")
        if policy is not None and policy not in FS_GROUP_POLICIES:
            causes.unsupported("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES)
        _check_token_requests(spec.get("tokenRequests") or [], causes)
        for mode in spec.get("volumeLifecycleModes") or ():
            if mode not in LIFECYCLE_MODES:
                causes.unsupported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        # The misspelled path is the reference's.
        immutable(
            spec.get("attachRequired"),
            before.get("attachRequired"),
            "spec.attachedRequired",
            causes,
        )
        for name in ("fsGroupPolicy", "podInfoOnMount"):
            immutable(spec.get(name), before.get(name), f"spec.{name}", causes)
        modes = spec.get("volumeLifecycleModes")
        if not same(modes, before.get("volumeLifecycleModes")):
            shown = go_list("storage.VolumeLifecycleMode", modes)
            causes.invalid("spec.volumeLifecycleModes", shown, IMMUTABLE)
        _check_token_requests(spec.get("tokenRequests") or [], causes)


def _check_token_requests(requests: list[dict[str, Any]], causes: Causes) -> None:
    seen = set()
    for index, request in enumerate(requests):
        path = f"spec.tokenRequests[{index}]"
        audience, seconds = request["audience"], request.get("expirationSeconds")
        if audience in seen:
            causes.duplicate(f"{path}.audience", audience)
            continue
        seen.add(audience)
        check_token_lifetime(seconds, f"{path}.expirationSeconds", causes)


def check_token_lifetime(seconds: int | None, path: str, causes: Causes) -> None:
    """Check the lifetime of a requested service account token."""
    if seconds is None:
        return
    if seconds < SHORTEST_TOKEN:
        causes.invalid(path, seconds, "may not specify a duration less than 10 minutes")
    if seconds > LONGEST_TOKEN:
        causes.invalid(path, seconds, "may not specify a duration larger than 2^32 seconds")
