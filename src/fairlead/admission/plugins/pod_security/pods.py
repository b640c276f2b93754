"""A pod as the checks see it, and helpers for their messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from fairlead.base.release import V1_25, Release
from fairlead.codec.types.model import Object
from fairlead.resources.core.pods.annotations import Keys
from fairlead.resources.core.pods.annotations import keys as keys
from fairlead.resources.core.pods.container_lists import all_containers

_NOTHING: Object = {}


class Violation(NamedTuple):
    """A violation: a short reason, and the containers or values at fault."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})"


class Container(NamedTuple):
    name: str
    context: Object  # its securityContext
    value: Object


class Pod(NamedTuple):
    """The parts of a pod or a pod template that the checks need."""

    annotations: dict[str, str]
    spec: Object
    context: Object  # the pod's securityContext
    containers: list[Container]
    settings: set[str]  # field names set in any of its security contexts
    keys: Keys
    release: Release

    @property
    def is_for_windows(self) -> bool:
        return (self.spec.get("os") or _NOTHING).get("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """Whether it runs in a user namespace."""
        return self.spec.get("hostUsers") is False

    def names(self, is_bad: Callable[[Container], Any]) -> list[str]:
        """The names of the containers that satisfy the predicate."""
        return [container.name for container in self.containers if is_bad(container)]


def pod_of(value: Object, keys: Keys, release: Release = V1_25) -> Pod:
    """Parse an object with `metadata` and `spec`."""
    spec = value["spec"]
    containers = [
        Container(container["name"], container.get("securityContext") or _NOTHING, container)
        for container in all_containers(spec)
    ]
    annotations = (value.get("metadata") or _NOTHING).get("annotations") or {}
    context = spec.get("securityContext") or _NOTHING
    settings = set(context).union(*[container.context for container in containers])
    return Pod(annotations, spec, context, containers, settings, keys, release)


def plural(word: str, items: Collection[Any]) -> str:
    return word if len(items) == 1 else f"{word}s"


def quoted(texts: Iterable[str]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def named(word: str, names: Collection[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{plural(word, names)} {quoted(names)}"


def setters(pod_too: bool, names: Collection[str]) -> str:
    """Names the setters of a field for a message: the pod, some containers, or both."""
    subjects = ["pod"] if pod_too else []
    if names:
        subjects.append(named("container", names))
    return " and ".join(subjects)
