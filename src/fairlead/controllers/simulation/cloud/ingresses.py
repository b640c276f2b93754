"""Shows addresses in the status of Ingresses, as an ingress controller does for its classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from fairlead.base import clock
from fairlead.codec.types.times import parse_time
from fairlead.controllers.events import WARNING, Recorder
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.behaviour import BehaviourError
from fairlead.controllers.simulation.cloud.addresses import CloudAddresses, NoAddress
from fairlead.controllers.simulation.cloud.settings import BalancerSettings, balancer_settings
from fairlead.controllers.workloads.statuses import write_status
from fairlead.operations.api import Api, Object
from fairlead.operations.client import Client
from fairlead.storage.version import Change

INGRESSES, INGRESS_CLASSES = "networking/v1/ingresses", "networking/v1/ingressclasses"
INGRESS_CONTROLLER = "simulation.fairlead.dev/ingress"
_HOLDER = "ingress-class/"  # no uid has a slash


class IngressAddresses:
    """Keys are `namespace/name` of Ingresses. Each IngressClass has one address; Ingresses without
    an existing class share another one, so that the names in Ingresses cannot use up the range. A
    status that somebody else has written is left alone."""

    workers = 4

    def __init__(
        self,
        api: Api,
        client: Client,
        recorder: Recorder,
        addresses: CloudAddresses,
        classes: Sequence[str],
    ) -> None:
        """`classes` are patterns of the names of classes to serve."""
        self._client = client
        self._recorder = recorder
        self._addresses = addresses
        self._patterns = classes
        self._ingresses = api.resources.named(INGRESSES)
        self._annotation = api.dialect.label("@/ingress.class")
        self._class_of: dict[str, str] = {}  # the name in each Ingress, by key
        self._of_class: dict[str, set[str]] = defaultdict(set)
        self._holder_of: dict[str, str] = {}
        self._holds: dict[str, set[str]] = defaultdict(set)
        self._add: Callable[[str], None] = lambda key: None

    def add_by(self, add: Callable[[str], None]) -> None:
        self._add = add

    def follows(self) -> Mapping[str, Keys]:
        return {INGRESS_CLASSES: self._changed_class, INGRESSES: self._ingress}

    def _changed_class(self, change: Change) -> Iterable[str]:
        return tuple(self._of_class.get(change.name, ()))

    def _ingress(self, change: Change) -> Iterable[str]:
        key, known = change.key, self._class_of.pop(change.key, None)
        if known is not None:
            self._of_class[known].discard(key)
            if not self._of_class[known]:
                del self._of_class[known]
        if change.after is None:
            self._leave(key)
            return (key,)
        ingress = change.after.object()
        name = self._class_of[key] = self._class_name(ingress)
        self._of_class[name].add(key)
        if self._is_ours(ingress) and self._serves(name):
            holder = self._join(key, name)
            points = _points(ingress)
            self._addresses.observe(holder, [point["ip"] for point in points if point.get("ip")])
        return (key,)

    def _class_name(self, ingress: Object) -> str:
        name = ingress["spec"].get("ingressClassName")
        if name is None:
            name = (ingress["metadata"].get("annotations") or {}).get(self._annotation, "")
        return str(name)

    def _serves(self, name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in self._patterns):
            return True
        found = self._client.find(INGRESS_CLASSES, "", name) if name else None
        return found is not None and found["spec"].get("controller") == INGRESS_CONTROLLER

    def _join(self, key: str, name: str) -> str:
        """The holder of the address of a class, which an Ingress now uses."""
        exists = name and self._client.find(INGRESS_CLASSES, "", name) is not None
        holder = f"{_HOLDER}{name if exists else ''}"
        if self._holder_of.get(key) != holder:
            self._leave(key)
            self._holder_of[key] = holder
            self._holds[holder].add(key)
        return holder

    def _leave(self, key: str) -> None:
        """The last Ingress of a class gives the address back."""
        holder = self._holder_of.pop(key, None)
        if holder is None:
            return
        self._holds[holder].discard(key)
        if not self._holds[holder]:
            del self._holds[holder]
            self._addresses.keep_only(holder)

    def _is_ours(self, ingress: Object) -> bool:
        """Whether the status is empty or was written by us."""
        entries = ingress["metadata"].get("managedFields") or ()
        is_written = any(
            entry.get("manager") == self._client.manager and entry.get("subresource") == "status"
            for entry in entries
        )
        return is_written or not _points(ingress)

    async def sync(self, key: str) -> float | None:
        slot = self._addresses.stop_waiting(key)
        try:
            namespace, _, name = key.partition("/")
            ingress = self._client.find(INGRESSES, namespace, name)
            if ingress is None or not self._is_ours(ingress):
                return None
            if key in self._class_of and self._serves(self._class_name(ingress)):
                return await self._show(key, ingress)
            self._leave(key)
            if _points(ingress):
                await self._write(ingress, [])
            return None
        finally:
            self._addresses.offer(slot)

    async def _show(self, key: str, ingress: Object) -> float | None:
        settings = self._settings(ingress)
        created = parse_time(ingress["metadata"]["creationTimestamp"]).timestamp()
        delay = created + settings.delay - clock.time()
        if settings.delay and delay > 0 and not _points(ingress):
            return delay
        if settings.hostname:
            self._leave(key)
            points = [{"hostname": settings.hostname}]
        else:
            holder = self._join(key, self._class_name(ingress))
            try:
                points = [{"ip": self._addresses.take(holder, self._addresses.families[0])}]
            except NoAddress as error:
                self._record(ingress, "SyncLoadBalancerFailed", f"Error syncing ingress: {error}")
                self._addresses.wait(key, error.slot, self._add)
                return None
        if _points(ingress) != points:
            await self._write(ingress, points)
        return None

    def _settings(self, ingress: Object) -> BalancerSettings:
        try:
            return balancer_settings(ingress["metadata"].get("annotations"))
        except BehaviourError as error:
            self._record(ingress, "InvalidSimulation", str(error))
            return BalancerSettings()

    async def _write(self, ingress: Object, points: list[Object]) -> None:
        balancer = {"ingress": points} if points else {}
        await write_status(
            self._client,
            self._ingresses,
            ingress,
            lambda current: {**current, "status": {"loadBalancer": balancer}},
        )

    def _record(self, ingress: Object, reason: str, text: str) -> None:
        self._recorder.record(self._ingresses, ingress, WARNING, reason, text)


def _points(ingress: Object) -> list[Object]:
    points: list[Object] = (ingress["status"].get("loadBalancer") or {}).get("ingress") or []
    return points
