"""Handles claims whose requested size grew: by an external driver, or on the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.codec.types.quantity import quantity
from fairlead.codec.types.times import now
from fairlead.controllers.events import NORMAL, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.volumes.facts import (
    is_bound_to,
    key_of,
    size_of,
    size_wanted,
    volume_mode_of,
)
from fairlead.controllers.volumes.names import (
    BOUND,
    CLAIMS,
    VOLUMES,
    Annotations,
    phase_of,
    with_annotations,
)
from fairlead.controllers.volumes.plugins import Plugins
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

_RESIZING, _PENDING = _STATES = ("Resizing", "FileSystemResizePending")
_IGNORED = (
    "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an"
    " external controller to process this PVC."
)


class VolumeExpander:
    """Keys are `namespace/name` of claims. External controllers expand volumes. Flex volumes are
    expanded on the node only, so the volume's capacity is updated immediately."""

    workers = 1

    def __init__(self, api: Api, client: Client, recorder: Recorder) -> None:
        self._client = client
        self._recorder = recorder
        self._claims = api.resources.named(CLAIMS)
        self._names = Annotations.of(api.dialect)
        self._plugins = Plugins(api.dialect, self._names)
        self._gives_reason = api.dialect.resizing_has_reason

    def follows(self) -> Mapping[str, Keys]:
        return {CLAIMS: self._grown}

    def _grown(self, change: Change) -> Iterable[str]:
        """Claims whose request grew beyond their capacity."""
        if change.after is None or change.after.body is None:
            return ()
        claim = change.after.object()
        if not _wants_more(claim):
            return ()
        if change.before is not None and size_wanted(change.before.object()) >= size_wanted(claim):
            return ()
        return (change.key,)

    async def sync(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        claim = self._client.find(CLAIMS, namespace, name)
        if claim is None or not _wants_more(claim):
            return
        volume = self._client.find(VOLUMES, "", claim["spec"].get("volumeName") or "")
        if volume is None or not is_bound_to(volume, claim):
            return
        if plugin := self._plugins.moved_plugin(volume):
            what = f"CSI migration enabled for {plugin}"
            self._record(claim, f"{what}; waiting for external resizer to expand the pvc")
            await self._write(claim, self._resized_by(claim, self._plugins.driver(plugin)))
        elif volume["spec"].get("flexVolume") is not None:
            await self._expand_on_node(claim, volume)
        else:
            self._record(claim, _IGNORED)

    def _record(self, claim: Object, text: str, reason: str = "ExternalExpanding") -> None:
        self._recorder.record(self._claims, claim, NORMAL, reason, text)

    async def _expand_on_node(self, claim: Object, volume: Object) -> None:
        if size_of(volume) >= size_wanted(claim) and _waits_for_node(claim):
            return
        driver = volume["spec"]["flexVolume"]["driver"]
        begun = _with_state(self._resized_by(claim, driver), self._resizing())
        claim = await self._write(claim, begun)
        size = claim["spec"]["resources"]["requests"]["storage"]
        if size_of(volume) < size_wanted(claim):
            spec = {**volume["spec"], "capacity": {**volume["spec"]["capacity"], "storage": size}}
            await self._client.replace(VOLUMES, {**volume, "spec": spec})
        if volume_mode_of(volume) == "Filesystem":
            await self._write(claim, _with_state(claim, _pending_on_node()))
            return
        written = await self._write(claim, _with_size(_with_state(claim), size))
        text = f"ExpandVolume succeeded for volume {key_of(claim)}"
        self._record(written, text, "VolumeResizeSuccessful")

    def _resizing(self) -> Object:
        state = {"type": _RESIZING, "status": "True", "lastTransitionTime": now()}
        return {**state, "reason": "ResizeStarted"} if self._gives_reason else state

    def _resized_by(self, claim: Object, resizer: str) -> Object:
        return with_annotations(claim, {self._names.resizer: resizer})

    async def _write(self, claim: Object, changed: Object) -> Object:
        if changed == claim:
            return claim
        metadata = claim["metadata"]
        return await self._client.change(
            CLAIMS, metadata["namespace"], metadata["name"], lambda _: changed, "status"
        )


def _wants_more(claim: Object) -> bool:
    has = (claim["status"].get("capacity") or {}).get("storage", "0")
    return phase_of(claim) == BOUND and size_wanted(claim) > quantity(has)


def _waits_for_node(claim: Object) -> bool:
    return any(state["type"] == _PENDING for state in claim["status"].get("conditions") or ())


def _pending_on_node() -> Object:
    text = "Waiting for user to (re-)start a pod to finish file system resize of volume on node."
    return {"type": _PENDING, "status": "True", "lastTransitionTime": now(), "message": text}


def _with_state(claim: Object, state: Object | None = None) -> Object:
    """The claim with `state` as the only condition about its size; an equal one is kept."""
    before = claim["status"].get("conditions") or []
    conditions = [condition for condition in before if condition["type"] not in _STATES]
    if state is not None:
        same = ("type", "status")
        same_states = (old for old in before if all(old[name] == state[name] for name in same))
        conditions.append(next(same_states, state))
    status = {name: part for name, part in claim["status"].items() if name != "conditions"}
    if conditions:
        status["conditions"] = conditions
    return {**claim, "status": status}


def _with_size(claim: Object, size: str) -> Object:
    capacity = {**(claim["status"].get("capacity") or {}), "storage": size}
    return {**claim, "status": {**claim["status"], "capacity": capacity}}
