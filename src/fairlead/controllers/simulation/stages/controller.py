"""Plays the stages of objects: follows the Stage objects, and the objects of the kinds that they
name."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlead.base import budget, clock, meter
from fairlead.base.caches import BoundedCache
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.events import WARNING
from fairlead.controllers.framework import Follow, Keys, Unfollow
from fairlead.controllers.simulation.definitions import STAGES as STAGES_DEFINITION
from fairlead.controllers.simulation.simulated_nodes import NODES, PODS
from fairlead.controllers.simulation.stages import (
    actions,
    definitions,
    delays,
    expressions,
    selection,
)
from fairlead.controllers.workloads.statuses import condition, find_condition, without_condition
from fairlead.operations.api import Object
from fairlead.operations.client import Client, system_user
from fairlead.operations.stored_versions import read_requested
from fairlead.operations.views import view_of
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change, Version

if TYPE_CHECKING:
    from fairlead.controllers.simulation.stages.definitions import Stage

logger = Logger("fairlead.controllers.simulation")

STAGES = "kwok.x-k8s.io/v1alpha1/stages"
_USER = "simulated-stages"
_ACCEPTED = "Accepted"
_OWN = ""  # the subscription to Stages, which may be objects with stages as well
_BATCH = 200  # objects that are queued before others get their turn
_CPU_SECONDS = 1.0  # for the expressions and templates of one object
# How many stages an object may go through at once, and how many a second after that.
_BURST, _RATE = 20, 1.0
_MAX_REPORTED = 1_024


@dataclass(slots=True)
class _Progress:
    """What is known about an object. Losing it only makes times less exact. `changed` is when it
    changed, `done` the version and stage that were played without a change of the object, and
    `left` how many stages it could still go through at the time `at`."""

    changed: float = 0.0
    done: tuple[str, Any] = ("", None)
    left: float = _BURST
    at: float = 0.0

    def wait(self) -> float:
        """Count a stage; returns the seconds to wait if there were too many."""
        moment = clock.time()
        self.left = min(_BURST, self.left + max(0.0, moment - self.at) * _RATE)
        self.at = moment
        if self.left < 1:
            return (1 - self.left) / _RATE
        self.left -= 1
        return 0.0


class StagePlayer:
    """Keys are names of Stages, or the key of a resource and of an object, separated by a space.
    `simulated_nodes` are the nodes that have agents."""

    name = "simulated-stages"
    workers = 32  # their writes share commits

    def __init__(self, dependencies: Dependencies, simulated_nodes: Iterable[str]) -> None:
        api = self._api = dependencies.api
        self._client = Client(api, system_user(_USER))
        self._recorder = dependencies.recorder(self._client, _USER)
        self._simulated_nodes = frozenset(simulated_nodes)
        self._stages: dict[str, Stage] = {}
        self._groups: dict[str, str] = {}  # the group that each Stage refers to
        self._of_kind: dict[str, list[Stage]] = {}
        self._followed: dict[str, tuple[Resource, Unfollow]] = {}
        self._progress: dict[str, dict[str, _Progress]] = defaultdict(dict)
        self._reported: BoundedCache[tuple[str, str], bool] = BoundedCache(_MAX_REPORTED)
        self._follow: Follow
        self._add: Callable[[str], None]

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def grow_by(self, follow: Follow) -> None:
        self._follow = follow
        self._follow_stages()

    def follows(self) -> Mapping[str, Keys]:
        return {DEFINITIONS: self._definition_changed}

    def _definition_changed(self, change: Change) -> Iterator[str]:
        """Stages whose kind may have come or gone."""
        if change.name == STAGES_DEFINITION:
            self._follow_stages()
        group = change.name.partition(".")[2]
        yield from [name for name, referred in self._groups.items() if referred == group]

    def _follow_stages(self) -> None:
        resources = self._api.resources
        resource = resources.named(STAGES) if resources.serves(STAGES) else None
        self._follow_only(_OWN, resource, lambda change: (change.name,), replay=True)

    def _follow_only(
        self, key: str, resource: Resource | None, keys: Keys, *, replay: bool = False
    ) -> None:
        """Subscribe to a resource for its objects, or for Stages as such (_OWN), and drop an
        earlier subscription. A definition that was deleted
        and created again has a new resource object."""
        followed, unfollow = self._followed.get(key, (None, None))
        if followed is resource:
            return
        if unfollow is not None:
            unfollow()
            del self._followed[key]
            self._progress.pop(key, None)
        if resource is not None:
            self._followed[key] = resource, self._follow(resource.key, keys, replay=replay)

    async def sync(self, key: str) -> float | None:
        meter.begin(_USER).seconds = _CPU_SECONDS
        kind, space, path = key.partition(" ")
        if not space:
            await self._sync_stage(key)
            return None
        return await self._advance(kind, path)

    # Stages

    async def _sync_stage(self, name: str) -> None:
        value = self._client.find(STAGES, "", name) if self._client.serves(STAGES) else None
        if value is None:
            self._groups.pop(name, None)
            await self._put(name, None)
            return
        reference = value["spec"]["resourceRef"]
        group = reference.get("apiGroup") or "v1"
        self._groups[name] = group.rpartition("/")[0] or group
        resource = definitions.find_resource(self._api.resources, reference)
        known = self._stages.get(name)
        if known is not None and known.resource is resource and _is_same(known.value, value):
            reason, text = "Accepted", _accepted(known.resource)
            stage: Stage | None = known
        else:
            stage, reason, text = await self._compiled(value, resource)
            await self._put(name, stage)
        is_new = await self._report(value, reason, text, is_accepted=stage is not None)
        if stage is None and is_new:
            logger.warning("a stage is not valid", stage=name, err=text)
            self._recorder.record(self._api.resources.named(STAGES), value, WARNING, reason, text)

    async def _compiled(
        self, value: Object, resource: Resource | None
    ) -> tuple[Stage | None, str, str]:
        """The stage, or None; a reason and a text for the status."""
        reference = value["spec"]["resourceRef"]
        if resource is None:
            kind, group = reference["kind"], reference.get("apiGroup") or "v1"
            return None, "KindNotServed", f'no kind "{kind}" in "{group}" is served'
        dialect, release = self._api.dialect, self._api.resources.release
        compiling = definitions.compile_stage
        try:
            stage = await budget.run(0, compiling, value, resource, dialect, release)
        except (expressions.StageError, meter.OverBudget) as error:
            return None, "InvalidStage", str(error) or "it takes too long to compile"
        return stage, "Accepted", _accepted(resource)

    async def _put(self, name: str, stage: Stage | None) -> None:
        """Replace a stage, and look at all objects that it may concern."""
        former = self._stages.pop(name, None)
        if stage is not None:
            self._stages[name] = stage
        for key in {each.resource.key for each in (former, stage) if each is not None}:
            await self._follow_kind(key)

    async def _follow_kind(self, key: str) -> None:
        stages = [stage for stage in self._stages.values() if stage.resource.key == key]
        stages.sort(key=lambda stage: stage.name)
        resources = self._api.resources
        if not stages or not resources.serves(key):
            self._of_kind.pop(key, None)
            self._follow_only(key, None, lambda _: ())
            return
        self._of_kind[key] = stages
        resource = resources.named(key)
        self._follow_only(key, resource, lambda change: self._changed(key, change))
        for number, version in enumerate(self._api.collection(resource).current("")):
            if self._is_played(key, version):
                self._add(f"{key} {version.key}")
            if number % _BATCH == 0:
                await asyncio.sleep(0)

    async def _report(self, value: Object, reason: str, text: str, *, is_accepted: bool) -> bool:
        """Write the condition of a Stage; returns whether it changed."""

        def changed(current: Object) -> Object:
            status = current.get("status") or {}
            conditions = status.get("conditions") or []
            new, old = (
                condition(_ACCEPTED, str(is_accepted), reason, text),
                find_condition(conditions, _ACCEPTED),
            )
            if old is not None and old["status"] == new["status"]:
                new["lastTransitionTime"] = old["lastTransitionTime"]
            if old == new:
                return current
            return {
                **current,
                "status": {
                    **status,
                    "conditions": [*without_condition(conditions, _ACCEPTED), new],
                },
            }

        if changed(value) is value:
            return False
        try:
            name = value["metadata"]["name"]
            await self._client.change(STAGES, "", name, changed, "status", "patch")
        except StatusError as error:
            if error.code != 404:
                raise
        return True

    # Objects

    def _changed(self, kind: str, change: Change) -> Iterable[str]:
        progress = self._progress[kind]
        if change.after is None:
            progress.pop(change.key, None)
            return ()
        if not self._is_played(kind, change.after):
            return ()
        progress.setdefault(change.key, _Progress()).changed = clock.time()
        return (f"{kind} {change.key}",)

    def _is_played(self, kind: str, version: Version) -> bool:
        """Whether stages apply to an object: nodes and pods with an agent are left to it unless a
        stage says otherwise, and pods without a node are nowhere."""
        if kind == PODS:
            node = version.fields.get("spec.nodeName", "")
        elif kind == NODES:
            node = version.name
        else:
            return True
        if node in self._simulated_nodes:
            return any(stage.on_simulated_nodes for stage in self._of_kind.get(kind, ()))
        return bool(node)

    async def _advance(self, kind: str, path: str) -> float | None:
        resource, _ = self._followed.get(kind, (None, None))
        version = self._api.collection(resource).get(path) if resource is not None else None
        if resource is None or version is None or version.body is None:
            return None
        progress = self._progress[kind].setdefault(path, _Progress())
        stored = await read_requested(resource, version)
        value = view_of(self._api, resource).read(stored)
        stages = self._candidates(kind, version)
        changed = progress.changed or delays.changed_at(value, self._api.dialect)
        size = len(version.body)
        try:
            found = await budget.run(size, selection.select, stages, value, changed)
        except meter.OverBudget:
            self._fail(stages[0], resource, value, "the expressions of the stages take too long")
            return None
        for problem in found.problems:
            self._report_once(problem.stage, problem.text)
        stage, version_played = found.stage, (value["metadata"]["resourceVersion"], found.stage)
        if stage is None or progress.done == version_played:
            if progress.left == _BURST and stage is None:
                self._progress[kind].pop(path, None)
            return None
        left = found.due - clock.time()
        if left > 0:
            return left
        pause = progress.wait()
        if pause > 0:
            text = f"stage {stage.name} is played again and again; now once a second at most"
            self._recorder.record(resource, value, WARNING, "StageLoop", text)
            self._report_once(stage, f"{_key_of(value)} loops in this stage")
            return pause
        progress.done = version_played
        await self._play(stage, resource, value, size)
        return None

    def _candidates(self, kind: str, version: Version) -> list[Stage]:
        stages = self._of_kind.get(kind, [])
        if kind not in (PODS, NODES):
            return stages
        node = version.name if kind == NODES else version.fields.get("spec.nodeName", "")
        is_simulated = node in self._simulated_nodes
        return [stage for stage in stages if stage.on_simulated_nodes or not is_simulated]

    async def _play(self, stage: Stage, resource: Resource, value: Object, size: int) -> None:
        playing = actions.Actions(self._api, self._client, self._recorder)
        try:
            await playing.play(stage, value, size)
        except (expressions.StageError, meter.OverBudget) as error:
            self._fail(stage, resource, value, str(error))
        except StatusError as error:
            if error.code in (409, 429) or error.code >= 500:
                self._progress[resource.key].pop(_key_of(value), None)
                raise
            if error.code != 404 or self._exists(resource, value):
                self._fail(stage, resource, value, str(error))

    def _exists(self, resource: Resource, value: Object) -> bool:
        current = self._api.collection(resource).get(_key_of(value))
        return current is not None and current.uid == value["metadata"]["uid"]

    def _fail(self, stage: Stage, resource: Resource, value: Object, text: str) -> None:
        """Report that a stage could not be played; it is tried again when the object or the stage
        changes."""
        text = f"stage {stage.name}: {text}"
        logger.warning("a stage failed", resource=resource.name, key=_key_of(value), err=text)
        self._recorder.record(resource, value, WARNING, "StageFailed", text)
        self._report_once(stage, f"{_key_of(value)}: {text}")

    def _report_once(self, stage: Stage, text: str) -> None:
        key = stage.value["metadata"]["uid"], text
        if self._reported.get(key) is None:
            self._reported.keep(key, True, len(text))
            resource = self._api.resources.named(STAGES)
            self._recorder.record(resource, stage.value, WARNING, "StageFailed", text)


def _accepted(resource: Resource) -> str:
    return f"objects of {resource.name} are in this stage when they match"


def _key_of(value: Object) -> str:
    namespace, name = value["metadata"].get("namespace"), value["metadata"]["name"]
    return f"{namespace}/{name}" if namespace else name


def _is_same(known: Object, value: Object) -> bool:
    """Whether two versions of a Stage mean the same."""

    def essence(stage: Object) -> tuple[Any, ...]:
        metadata = stage["metadata"]
        return metadata["uid"], metadata.get("annotations"), stage["spec"]

    return essence(known) == essence(value)
