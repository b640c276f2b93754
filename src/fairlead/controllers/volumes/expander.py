"""Handles claims whose requested size grew: by an external driver, or on the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    CLAIMS,
    VOLUMES,
    Annotations,
    with_annotations,
)
from fairlead.controllers.volumes.plugins import Plugins
from fairlead.controllers.volumes.resizing import (
    pending_on_node,
    resizing,
    waits_for_node,
    wants_more,
    with_size,
    with_state,
)
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

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
        if not wants_more(claim):
            return ()
        if change.before is not None and size_wanted(change.before.object()) >= size_wanted(claim):
            return ()
        return (change.key,)

    async def sync(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        claim = self._client.find(CLAIMS, namespace, name)
        if claim is None or not wants_more(claim):
            return
        volume = self._client.find(VOLUMES, "", claim["spec"].get("volumeName") or "")
        if volume is None or not is_bound_to(volume, claim):
            return
        if plugin := self._plugins.migrated_plugin(volume):
            message = f"CSI migration enabled for {plugin}"
            self._record(claim, f"{message}; waiting for external resizer to expand the pvc")
            await self._write(claim, self._resized_by(claim, self._plugins.driver(plugin)))
        elif volume["spec"].get("flexVolume") is not None:
            await self._expand_on_node(claim, volume)
        else:
            self._record(claim, _IGNORED)

    def _record(self, claim: Object, text: str, reason: str = "ExternalExpanding") -> None:
        self._recorder.record(self._claims, claim, NORMAL, reason, text)

    async def _expand_on_node(self, claim: Object, volume: Object) -> None:
        if size_of(volume) >= size_wanted(claim) and waits_for_node(claim):
            return
        driver = volume["spec"]["flexVolume"]["driver"]
        begun = with_state(
            self._resized_by(claim, driver), resizing(gives_reason=self._gives_reason)
        )
        claim = await self._write(claim, begun)
        size = claim["spec"]["resources"]["requests"]["storage"]
        if size_of(volume) < size_wanted(claim):
            spec = {**volume["spec"], "capacity": {**volume["spec"]["capacity"], "storage": size}}
            await self._client.replace(VOLUMES, {**volume, "spec": spec})
        if volume_mode_of(volume) == "Filesystem":
            await self._write(claim, with_state(claim, pending_on_node()))
            return
        written = await self._write(claim, with_size(with_state(claim), size))
        text = f"ExpandVolume succeeded for volume {key_of(claim)}"
        self._record(written, text, "VolumeResizeSuccessful")

    def _resized_by(self, claim: Object, resizer: str) -> Object:
        return with_annotations(claim, {self._names.resizer: resizer})

    async def _write(self, claim: Object, changed: Object) -> Object:
        if changed == claim:
            return claim
        metadata = claim["metadata"]
        return await self._client.change(
            CLAIMS, metadata["namespace"], metadata["name"], lambda _: changed, "status"
        )
