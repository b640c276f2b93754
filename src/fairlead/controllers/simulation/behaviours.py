"""The scripts of containers: from the Behaviour objects of their namespace, and from annotations of
their pods, which take precedence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.annotated_scripts import AnnotatedScripts
from fairlead.controllers.simulation.behaviour import PREFIX, SCRIPT, BehaviourError
from fairlead.controllers.simulation.definitions import BEHAVIOURS as DEFINITION
from fairlead.controllers.simulation.definitions import is_installed
from fairlead.controllers.simulation.globs import matches_any
from fairlead.controllers.simulation.script import (
    NO_SCRIPT,
    PartialScript,
    Script,
    merged,
    partial_script,
)
from fairlead.operations.api import Api
from fairlead.resources.core.pods.container_lists import all_containers
from fairlead.resources.custom.definition import DEFINITIONS
from fairlead.resources.rules import selector_matches
from fairlead.storage.collection import Collection
from fairlead.storage.version import Change, Version

BEHAVIOURS = "simulation.fairlead.dev/v1/behaviours"
# Every start of a container looks at all selectors of its namespace; objects beyond these limits do
# not count, and pods with more containers are not scripted.
MAX_OBJECTS = 200
MAX_BYTES = 2 * 1024 * 1024
MAX_TERMS = 500  # patterns, labels and values in selectors
MAX_CONTAINERS = 50
_SCRIPT = f"{PREFIX}{SCRIPT}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Which containers a Behaviour is about; None selects all."""

    labels: Object | None
    pods: list[str] | None
    containers: list[str] | None
    images: list[str] | None

    def has_pod(self, name: str, labels: Mapping[str, str]) -> bool:
        if self.pods is not None and not matches_any(self.pods, name):
            return False
        return self.labels is None or selector_matches(self.labels, labels)

    def has_container(self, container: Object) -> bool:
        if self.containers is not None and not matches_any(self.containers, container["name"]):
            return False
        return self.images is None or matches_any(self.images, container.get("image") or "")

    def has_any(self, pod: Version) -> bool:
        """Whether it selects a container of a pod."""
        if not self.has_pod(pod.name, pod.labels):
            return False
        if self.containers is None and self.images is None:
            return True
        containers = all_containers(pod.object()["spec"])
        return len(containers) <= MAX_CONTAINERS and any(map(self.has_container, containers))

    @property
    def terms(self) -> int:
        """The number of comparisons that it needs."""
        labels = self.labels or {}
        values = (rule.get("values") or () for rule in labels.get("matchExpressions") or ())
        lists = (self.pods, self.containers, self.images, labels.get("matchLabels"), *values)
        return 1 + sum(len(each) for each in lists if each is not None)


def selector_of(behaviour: Object) -> Selector:
    given = behaviour["spec"].get("selector") or {}
    return Selector(*(given.get(name) for name in ("labels", "pods", "containers", "images")))


class Behaviours:
    """Follows the Behaviour objects. What they say is parsed when a container of their namespace
    needs it."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._annotated = AnnotatedScripts(api.types)
        self._objects: Collection | None = None  # None while they are not served
        self._parsed: dict[str, list[tuple[Selector, PartialScript]]] = {}  # by namespace
        definitions = api.collection(api.resources.named(DEFINITIONS))
        api.store.follow(definitions, self._definition_changed, essential=False)

    def _definition_changed(self, change: Change) -> None:
        if change.name != DEFINITION:
            return
        store, resources = self._api.store, self._api.resources
        if self._objects is not None:
            store.unfollow(self._objects, self._changed)
            self._objects = None
        self._parsed.clear()
        if is_installed(change.after) and resources.serves(BEHAVIOURS):
            self._objects = self._api.collection(resources.named(BEHAVIOURS))
            store.follow(self._objects, self._changed, essential=True, replay=False)

    def _changed(self, change: Change) -> None:
        self._parsed.pop(change.key.partition("/")[0], None)

    def script_of(self, pod: Object, container: str) -> Script:
        """The script of a container, by its name."""
        annotations = pod["metadata"].get("annotations") or {}
        text = annotations.get(f"{_SCRIPT}.{container}") or annotations.get(_SCRIPT)
        if not text and not self._objects:
            return NO_SCRIPT
        parts = self._of_objects(pod, container) if self._objects else []
        if text:
            with suppress(BehaviourError):  # see `problems`
                parts.insert(0, self._annotated.parse(text))
        return merged(parts)

    def problems(self, pod: Object) -> list[str]:
        """What is wrong with the scripts in the annotations of a pod."""
        problems = []
        for name, text in (pod["metadata"].get("annotations") or {}).items():
            if name == _SCRIPT or name.startswith(f"{_SCRIPT}."):
                try:
                    self._annotated.parse(text)
                except BehaviourError as error:
                    problems.append(f"{name}: {error}")
        return problems

    def _of_objects(self, pod: Object, name: str) -> list[PartialScript]:
        metadata = pod["metadata"]
        behaviours = self._of_namespace(metadata["namespace"])
        if not behaviours:
            return []
        containers = all_containers(pod["spec"])
        if len(containers) > MAX_CONTAINERS:
            return []
        container = next((each for each in containers if each["name"] == name), {"name": name})
        labels = metadata.get("labels") or {}
        return [
            part
            for selector, part in behaviours
            if selector.has_pod(metadata["name"], labels) and selector.has_container(container)
        ]

    def _of_namespace(self, namespace: str) -> list[tuple[Selector, PartialScript]]:
        """Those that count, in the order of their names."""
        parsed = self._parsed.get(namespace)
        if parsed is None:
            assert self._objects is not None
            counted = _counted(self._objects.current(namespace))
            parsed = self._parsed[namespace] = list(counted)
        return parsed


def _counted(versions: Iterable[Version]) -> Iterator[tuple[Selector, PartialScript]]:
    size = terms = 0
    for version in islice(versions, MAX_OBJECTS):
        size += len(version.body or b"")
        if size > MAX_BYTES:
            return
        selector, part = _parse(version)
        terms += selector.terms
        if terms > MAX_TERMS:
            return
        yield selector, part


def _parse(version: Version) -> tuple[Selector, PartialScript]:
    value = version.object()
    spec = {name: part for name, part in value["spec"].items() if name != "selector"}
    return selector_of(value), partial_script(spec, f"{version.name}@{version.revision}")


def concerned_pods(change: Change, pods: Iterable[Version]) -> Iterator[str | None]:
    """The keys of the pods that a changed Behaviour selects or selected. A None is a point where
    iteration may be interrupted."""
    values = [each.object() for each in (change.before, change.after) if each is not None]
    if len(values) == 2 and values[0]["spec"] == values[1]["spec"]:
        return
    selectors = [selector_of(value) for value in values]
    for pod in pods:
        yield pod.key if any(selector.has_any(pod) for selector in selectors) else None
