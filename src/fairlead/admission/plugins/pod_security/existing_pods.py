"""Warnings about existing pods in a namespace whose policy becomes stricter."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.pod_security.levels import Standard
from fairlead.admission.plugins.pod_security.pods import pod_of
from fairlead.admission.plugins.pod_security.standards import violations
from fairlead.base.release import V1_25, Release
from fairlead.base.slices import TimeSlices
from fairlead.codec.types.model import Object
from fairlead.resources.core.pods.annotations import Keys
from fairlead.storage.version import Version

MAX_PODS = 3000
MAX_SECONDS = 1.0  # seconds


async def warn(
    attributes: Attributes,
    entries: Sequence[Version],
    enforce: Standard,
    exempt_classes: Collection[str],
    keys: Keys,
    release: Release,
) -> None:
    """Warn about the pods of a namespace that violate its new enforce level."""
    for text in await warnings_about(
        attributes.name, entries, enforce, exempt_classes, keys, release
    ):
        attributes.context.warn(text)


async def warnings_about(
    namespace: str,
    entries: Sequence[Version],
    enforce: Standard,
    exempt_classes: Collection[str],
    keys: Keys,
    release: Release = V1_25,
) -> list[str]:
    """The warnings for a new enforce level. Pods with the same violations share one. At most
    MAX_PODS pods are checked, for at most MAX_SECONDS: one pod of each controller before the
    others."""
    scan = _PodScan(enforce, exempt_classes, keys, release)
    others: list[Version] = []
    for entry in entries:
        pod = entry.object()
        if scan.knows_controller_of(pod):
            others.append(entry)
        elif not await scan.check_pod(entry, pod):
            break
    else:
        for entry in others:
            if not await scan.check_pod(entry, entry.object()):
                break
    return scan.warnings(namespace, len(entries))


class _PodScan:
    """The results so far and the limits of a scan. Works in slices of time on the event loop."""

    def __init__(
        self, enforce: Standard, exempt_classes: Collection[str], keys: Keys, release: Release
    ) -> None:
        self._enforce = enforce
        self._exempt_classes = exempt_classes
        self._keys = keys
        self._release = release
        self._time = asyncio.get_running_loop().time
        self._end = self._time() + MAX_SECONDS
        self._slices = TimeSlices()
        self._controllers: set[str] = set()
        self._checked = self._exempt = 0
        self._faults: dict[str, list[str]] = {}

    def knows_controller_of(self, pod: Object) -> bool:
        controller = _controller(pod)
        is_known = controller in self._controllers
        if controller:
            self._controllers.add(controller)
        return is_known

    async def check_pod(self, entry: Version, pod: Object) -> bool:
        """Check a pod; returns False if the limit is reached."""
        if pod["spec"].get("runtimeClassName") in self._exempt_classes:
            self._exempt += 1
            return True
        self._checked += 1
        found_violations = violations(self._enforce, pod_of(pod, self._keys, self._release))
        if found_violations:
            reasons = ", ".join(violation.reason for violation in found_violations)
            self._faults.setdefault(reasons, []).append(entry.name)
        await self._slices.pause()
        return self._time() < self._end and self._checked < MAX_PODS

    def warnings(self, namespace: str, entries: int) -> list[str]:
        lines, total = [], entries - self._exempt
        if self._checked < total:
            lines.append(
                f"new PodSecurity enforce level only checked against the first {self._checked} of"
                f" {total} existing pods"
            )
        if self._faults:
            lines.append(
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce'
                f' level "{self._enforce}"'
            )
        faults = self._faults.items()
        return lines + sorted(f"{_names(names)}: {fault}" for fault, names in faults)


def _controller(pod: Object) -> str:
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner["uid"] for owner in owners if owner.get("controller")), "")


def _names(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"
