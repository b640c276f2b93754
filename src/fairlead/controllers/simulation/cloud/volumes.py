"""The volumes that the simulated provisioner makes, and how much of a class they use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import NamedTuple
from zlib import crc32

from fairlead.codec.types.quantity import format_quantity, quantity
from fairlead.controllers.simulation.behaviour import BehaviourError, parse_delay
from fairlead.controllers.volumes.facts import (
    attributes_class_of,
    is_within,
    reserved,
    size_of,
    size_wanted,
    volume_mode_of,
)
from fairlead.controllers.volumes.names import Annotations
from fairlead.operations.api import Object

DRIVER = "volumes.simulation.fairlead.dev"
_LIMIT = 2**63 - 1  # larger quantities are read as this one


class VolumeError(Exception):
    """Why the simulated driver does not make or change a volume, in the words of a driver.
    `needed` are the bytes that a class has no room for, `source` is the key of a claim that cannot
    be cloned yet."""

    def __init__(
        self, code: str, text: str, *, needed: Decimal = Decimal(0), source: str = ""
    ) -> None:
        super().__init__(f"rpc error: code = {code} desc = {text}")
        self.needed = needed
        self.source = source


class ClassSettings(NamedTuple):
    """Parameters of a StorageClass: seconds until a volume is ready, and the bytes that all volumes
    of the class have together."""

    delay: float = 0.0
    capacity: Decimal | None = None


def class_settings(storage_class: Object | None) -> ClassSettings:
    """Parse the parameters; others are left to other drivers. Raises VolumeError."""
    parameters = (storage_class or {}).get("parameters") or {}
    try:
        delay = parse_delay(parameters.get("delay", "0s"))
    except BehaviourError as error:
        raise VolumeError("InvalidArgument", f"parameter delay: {error}") from None
    text = parameters.get("capacity")
    try:
        return ClassSettings(delay, quantity(text) if text is not None else None)
    except ValueError:
        raise VolumeError("InvalidArgument", "parameter capacity: not a quantity") from None


def is_simulated(volume: Object) -> bool:
    return bool((volume["spec"].get("csi") or {}).get("driver") == DRIVER)


def bytes_wanted(claim: Object) -> Decimal:
    """The size of the volume for a claim; raises VolumeError."""
    size = size_wanted(claim).to_integral_value(ROUND_CEILING)
    if size >= _LIMIT:
        raise VolumeError("OutOfRange", f"a volume has less than {_LIMIT} bytes")
    return size


def size_text(claim: Object, size: Decimal) -> str:
    """A size as the claim writes it, in whole bytes."""
    text: str = claim["spec"]["resources"]["requests"]["storage"]
    return text if quantity(text) == size else format_quantity(size)


def volume_name(claim: Object) -> str:
    """The same at every attempt, so that a claim never gets two."""
    return f"pvc-{claim['metadata']['uid']}"


def new_volume(
    claim: Object, storage_class: Object, size: Decimal, node: Object | None, names: Annotations
) -> Object:
    """The volume for a claim; `node` is where its first pod will run, if it waits for one."""
    name, parameters = volume_name(claim), storage_class.get("parameters") or {}
    spec: Object = {
        "capacity": {"storage": size_text(claim, size)},
        "accessModes": claim["spec"]["accessModes"],
        "volumeMode": volume_mode_of(claim),
        "storageClassName": storage_class["metadata"]["name"],
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "csi": {"driver": DRIVER, "volumeHandle": name},
    }
    if volume_mode_of(claim) == "Filesystem":
        named = (text for key, text in parameters.items() if key.endswith("/fstype"))
        spec["csi"]["fsType"] = next(named, "ext4")
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = storage_class["mountOptions"]
    if attributes_class_of(claim):
        spec["volumeAttributesClassName"] = attributes_class_of(claim)
    if terms := storage_class.get("allowedTopologies"):
        rules = _node_rules(terms, node, claim["metadata"]["uid"])
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": rules}]}}
    metadata = {"name": name, "annotations": {names.provisioned_by: DRIVER}}
    return reserved({"metadata": metadata, "spec": spec}, claim)


def _node_rules(terms: list[Object], node: Object | None, uid: str) -> list[Object]:
    """Where a volume can be reached: the selected node's place, or one of the allowed places."""
    choice = crc32(uid.encode())
    labels: Mapping[str, str] = {}
    term = terms[choice % len(terms)]
    if node is not None:
        labels = node["metadata"].get("labels") or {}
        term = next((each for each in terms if is_within(each, labels)), term)
    return [
        {
            "key": rule["key"],
            "operator": "In",
            "values": [labels.get(rule["key"], rule["values"][choice % len(rule["values"])])],
        }
        for rule in term.get("matchLabelExpressions") or ()
    ]


class ClassUsage:
    """The bytes that the volumes of each class have. `take` is called before a volume is written,
    so that volumes made at the same time do not exceed the limit together."""

    def __init__(self) -> None:
        self._sizes: dict[str, tuple[str, Decimal]] = {}
        self._totals: dict[str, Decimal] = defaultdict(Decimal)

    def observe(self, name: str, volume: Object | None) -> str:
        """Record a stored volume, or that it is gone; returns the class that has more room."""
        before = self._sizes.get(name)
        if volume is None:
            self.drop(name)
            return before[0] if before else ""
        size, class_name = size_of(volume), volume["spec"].get("storageClassName") or ""
        self._record(name, class_name, size)
        return class_name if before and before[1] > size else ""

    def take(self, name: str, class_name: str, size: Decimal, limit: Decimal | None) -> None:
        """Record a volume that is to be made, or to get another size; raises VolumeError."""
        room = self.room(class_name, limit)
        had = self._sizes.get(name, (class_name, Decimal(0)))[1]
        if room is not None and size - had > room:
            free = max(room, Decimal(0))
            text = f"the volumes of the class have {limit:.0f} bytes, {free:.0f} are free"
            raise VolumeError("ResourceExhausted", text, needed=size - had)
        self._record(name, class_name, size)

    def room(self, class_name: str, limit: Decimal | None) -> Decimal | None:
        return None if limit is None else limit - self._totals.get(class_name, Decimal(0))

    def drop(self, name: str) -> None:
        class_name, size = self._sizes.pop(name, ("", Decimal(0)))
        if size:
            self._totals[class_name] -= size
            if not self._totals[class_name]:
                del self._totals[class_name]

    def _record(self, name: str, class_name: str, size: Decimal) -> None:
        self.drop(name)
        if size:
            self._sizes[name] = class_name, size
            self._totals[class_name] += size
