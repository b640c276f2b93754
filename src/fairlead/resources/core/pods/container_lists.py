"""Iterates over all containers of a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fairlead.resources.behaviour import Object

# The lists that are set when a pod is created.
DECLARED_LISTS: Final[tuple[str, ...]] = ("containers", "initContainers")
CONTAINER_LISTS: Final[tuple[str, ...]] = ("initContainers", "containers", "ephemeralContainers")
PROBES: Final[tuple[str, ...]] = ("livenessProbe", "readinessProbe", "startupProbe")


def containers_with_paths(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Every container of a pod with its path: init, regular, then ephemeral containers."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield container, f"{path}.{name}[{index}]"


def all_containers(spec: Object) -> list[Object]:
    containers: list[Object] = []
    for name in CONTAINER_LISTS:
        listed: list[Object] | None = spec.get(name)
        if listed:
            containers += listed
    return containers
