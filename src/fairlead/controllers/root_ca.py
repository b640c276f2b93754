"""Publishes the CA bundle of the server as a ConfigMap in every namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.controllers.framework import Keys
from fairlead.controllers.namespace_deletion import NAMESPACES, is_alive, name_of
from fairlead.operations.client import Client
from fairlead.storage.version import Change

CONFIG_MAPS = "core/v1/configmaps"

_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the {prefix}-apiserver when using internal"
    " endpoints such as the internal service IP or {service}.default.svc. No other usage is"
    " guaranteed across distributions of {product} clusters."
)


def ca_description(dialect: Dialect) -> str:
    return _DESCRIPTION.format(
        prefix=dialect.system_prefix,
        service=dialect.own_service,
        product=dialect.own_service.capitalize(),
    )


class RootCaPublisher:
    """Keys are namespaces. The CA file is read once, at construction."""

    name = "root-ca-cert-publisher"
    workers = 2

    def __init__(self, objects: Client, dialect: Dialect, ca_file: Path) -> None:
        self._objects = objects
        self._name = dialect.ca_config_map
        self._annotation = dialect.label("@/description")
        self._description = ca_description(dialect)
        self._data = {"ca.crt": ca_file.read_text()}

    def follows(self) -> Mapping[str, Keys]:
        return {NAMESPACES: name_of, CONFIG_MAPS: self._namespace_of_changed}

    def _namespace_of_changed(self, change: Change) -> Iterable[str]:
        return (change.namespace,) if change.name == self._name else ()

    async def sync(self, key: str) -> None:
        objects = self._objects
        if not is_alive(objects.find(NAMESPACES, "", key)):
            return
        current = objects.find(CONFIG_MAPS, key, self._name)
        try:
            if current is None:
                await objects.create(CONFIG_MAPS, self._desired(key))
            elif not self._is_right(current):
                await objects.replace(CONFIG_MAPS, self._corrected(current))
        except StatusError as error:
            if error.reason not in ("AlreadyExists", "NotFound"):
                raise

    def _desired(self, namespace: str) -> dict[str, Any]:
        annotations = {self._annotation: self._description}
        metadata = {"name": self._name, "namespace": namespace, "annotations": annotations}
        return {"metadata": metadata, "data": self._data}

    def _is_right(self, current: dict[str, Any]) -> bool:
        annotations = current["metadata"].get("annotations") or {}
        return current.get("data") == self._data and bool(annotations.get(self._annotation))

    def _corrected(self, current: dict[str, Any]) -> dict[str, Any]:
        value = deepcopy(current)
        annotations = value["metadata"].setdefault("annotations", {})
        annotations[self._annotation] = annotations.get(self._annotation) or self._description
        value["data"] = self._data
        return value
