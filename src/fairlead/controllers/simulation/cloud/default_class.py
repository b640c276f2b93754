"""Creates the default StorageClass, and the CSIDriver of its provisioner."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.simulation.cloud.volumes import DRIVER
from fairlead.controllers.volumes.names import CLASSES, annotations_of
from fairlead.operations.api import Object
from fairlead.operations.client import Client

_DRIVERS = "storage/v1/csidrivers"
_MARKS = ("storageclass.@/is-default-class", "storageclass.beta.@/is-default-class")
_START = "start"


class DefaultClass:
    """Works once, when the server starts: a class that is deleted later comes back at the next
    start, like a simulated node."""

    name = "simulated-storage-class"
    workers = 1

    def __init__(self, client: Client, dialect: Dialect, class_name: str) -> None:
        self._client = client
        self._marks = [dialect.label(mark) for mark in _MARKS]
        self._class_name = class_name

    def add_by(self, add: Callable[[str], None]) -> None:
        add(_START)

    def follows(self) -> Mapping[str, Keys]:
        return {}

    async def sync(self, key: str) -> None:
        driver = {"attachRequired": False, "podInfoOnMount": False}
        await self._create(_DRIVERS, {"metadata": {"name": DRIVER}, "spec": driver})
        if not any(map(self._is_default, self._client.list(CLASSES))):
            await self._create(CLASSES, self._new_class())

    def _is_default(self, storage_class: Object) -> bool:
        annotations = annotations_of(storage_class)
        return any(annotations.get(mark) == "true" for mark in self._marks)

    def _new_class(self) -> Object:
        return {
            "metadata": {"name": self._class_name, "annotations": {self._marks[0]: "true"}},
            "provisioner": DRIVER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "allowVolumeExpansion": True,
        }

    async def _create(self, resource: str, value: Object) -> None:
        try:
            await self._client.create(resource, value)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
