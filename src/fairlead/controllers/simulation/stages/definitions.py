"""Stage objects, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from fairlead.base.dialect import Dialect
from fairlead.base.release import Release
from fairlead.codec.go_template.functions import LAZY
from fairlead.codec.go_template.parts import Body
from fairlead.codec.go_template.syntax import parse_template
from fairlead.codec.go_template.values import TemplateError
from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.behaviour import PREFIX
from fairlead.controllers.simulation.stages.delays import Delay, changed_at, compile_delay
from fairlead.controllers.simulation.stages.expressions import (
    Matches,
    Query,
    StageError,
    query_from,
    requirement,
)
from fairlead.controllers.simulation.stages.object_functions import OBJECT_FUNCTIONS
from fairlead.controllers.simulation.stages.template_functions import FUNCTIONS
from fairlead.resources.registry import Resource, Resources

T = TypeVar("T")

ON_SIMULATED_NODES = f"{PREFIX}on-simulated-nodes"
SEED = f"{PREFIX}seed"
_MAX_STEPS = 32
_PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
STRATEGIC = _PATCH_TYPES["strategic"]
APPLY = "apply"
_STRATEGIC_KINDS = frozenset({("v1", "Pod"), ("v1", "Node")})  # whose patches are so by default
_NAMES = frozenset({*FUNCTIONS, *OBJECT_FUNCTIONS, *LAZY})


# What a stage does, in order.


class RecordEvent(NamedTuple):
    kind: str
    reason: str
    message: str


class ChangeFinalizers(NamedTuple):
    added: tuple[str, ...]
    removed: tuple[str, ...]
    removes_all: bool


class Delete(NamedTuple):
    pass


class Patch(NamedTuple):
    """A patch of the object itself, below the field `root` if it is given."""

    media_type: str
    template: Body
    root: str
    subresource: str
    username: str


class Apply(NamedTuple):
    """Another object, created or changed; `media_type` may be APPLY."""

    media_type: str
    template: Body
    subresource: str
    username: str


Step = RecordEvent | ChangeFinalizers | Delete | Patch | Apply


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A stage for the objects of one resource. `since` is when it was made or changed."""

    value: Object
    resource: Resource
    matches: tuple[Matches, ...]
    weight: int
    weight_query: Query | None
    delay: Delay
    steps: tuple[Step, ...]
    since: float
    seed: str
    on_simulated_nodes: bool

    @property
    def name(self) -> str:
        name: str = self.value["metadata"]["name"]
        return name


def find_resource(resources: Resources, reference: Mapping[str, Any]) -> Resource | None:
    """The resource that `spec.resourceRef` names; `apiGroup` is a group with or without version."""
    group, kind = reference.get("apiGroup") or "v1", reference["kind"]
    versions = [version.api_version for version in resources.of_group(group)]
    found = [
        resource
        for api_version in (group, *versions)
        for resource in resources.of_kind(api_version, kind)
        if {"list", "watch", "patch"}.issubset(resource.verbs)
    ]
    return found[0] if found else None


def compile_stage(value: Object, resource: Resource, dialect: Dialect, release: Release) -> Stage:
    """Compile a Stage; raises StageError that names everything that is wrong."""
    compiler = _Compiler(value["spec"], resource, release)
    annotations = value["metadata"].get("annotations") or {}
    stage = Stage(
        value,
        resource,
        tuple(compiler.matches()),
        value["spec"].get("weight") or 0,
        compiler.weight_query(),
        compiler.delay(),
        tuple(compiler.steps()),
        changed_at(value, dialect, without_status=True),
        annotations.get(SEED, ""),
        annotations.get(ON_SIMULATED_NODES) == "true",
    )
    if compiler.problems:
        raise StageError("; ".join(compiler.problems))
    return stage


class _Compiler:
    """Compiles the parts of a Stage's spec and collects the problems."""

    def __init__(self, spec: Object, resource: Resource, release: Release) -> None:
        self._spec = spec
        self._resource = resource
        self._release = release
        self.problems: list[str] = []
        if resource.kind == "Event":
            self.problems.append("resourceRef: stages of events are not supported")

    def _tried(self, path: str, work: Callable[[], T], otherwise: T) -> T:
        try:
            return work()
        except (StageError, TemplateError) as error:
            self.problems.append(f"{path}: {error}")
            return otherwise

    def matches(self) -> Iterator[Matches]:
        selector = self._spec.get("selector")
        if selector is None:
            self.problems.append("selector: is missing; an empty one selects all objects")
            return
        for field in ("labels", "annotations"):
            wanted = selector.get(f"match{field.title()}")
            if wanted:
                yield _has_all(field, wanted)
        for number, expression in enumerate(selector.get("matchExpressions") or ()):
            path = f"selector.matchExpressions[{number}]"
            yield self._requirement(expression, path)

    def _requirement(self, expression: Object, path: str) -> Matches:
        never: Matches = _never
        return self._tried(path, lambda: requirement(expression, self._release), never)

    def weight_query(self) -> Query | None:
        source = self._spec.get("weightFrom")
        if not source:
            return None
        return self._tried("weightFrom", lambda: query_from(source, self._release), None)

    def delay(self) -> Delay:
        empty = compile_delay({}, self._release)
        given = self._spec.get("delay") or {}
        return self._tried("delay", lambda: compile_delay(given, self._release), empty)

    def steps(self) -> Iterator[Step]:
        entries = self._spec.get("steps")
        path = "steps"
        if not entries:
            entries, path = list(_steps_of_next(self._spec.get("next") or {})), "next"
        if len(entries) > _MAX_STEPS:
            self.problems.append(f"{path}: more than {_MAX_STEPS} steps")
            return
        for number, entry in enumerate(entries):
            place = f"steps[{number}]" if path == "steps" else path
            yield from self._step(entry, place)
            if entry.get("delete"):
                return

    def _step(self, entry: Object, path: str) -> Iterator[Step]:
        if (event := entry.get("event")) is not None:
            kind = event.get("type") or "Normal"
            if kind not in ("Normal", "Warning"):
                self.problems.append(f'{path}.event.type: "{kind}" is neither Normal nor Warning')
            yield RecordEvent(kind, event.get("reason") or "", event.get("message") or "")
        if (finalizers := entry.get("finalizers")) is not None:
            yield ChangeFinalizers(
                _values(finalizers.get("add")),
                _values(finalizers.get("remove")),
                bool(finalizers.get("empty")),
            )
        if entry.get("delete"):
            yield Delete()
            return
        if (patch := entry.get("patch")) is not None:
            yield from self._patch(patch, f"{path}.{entry.get('field', 'patch')}")
        if (applied := entry.get("apply")) is not None:
            yield from self._apply(applied, f"{path}.apply")

    def _patch(self, patch: Object, path: str) -> Iterator[Step]:
        resource, subresource = self._resource, patch.get("subresource") or ""
        kind = resource.api_version, resource.kind
        default = "strategic" if kind in _STRATEGIC_KINDS else "merge"
        media_type = _PATCH_TYPES.get(patch.get("type") or default, "")
        if media_type == STRATEGIC and resource.custom is not None:
            self.problems.append(f"{path}.type: custom resources have no strategic patches")
        if subresource and subresource not in resource.subresources:
            self.problems.append(f'{path}: {resource.kind} has no subresource "{subresource}"')
        template = self._template(patch, path)
        username = (patch.get("impersonation") or {}).get("username", "")
        yield Patch(media_type, template, patch.get("root") or "", subresource, username)

    def _apply(self, applied: Object, path: str) -> Iterator[Step]:
        kind = applied.get("type") or APPLY
        yield Apply(
            _PATCH_TYPES.get(kind, APPLY),
            self._template(applied, path),
            applied.get("subresource") or "",
            (applied.get("impersonation") or {}).get("username", ""),
        )

    def _template(self, part: Object, path: str) -> Body:
        text = (part.get("template") or "").strip()
        return self._tried(path, lambda: parse_template(text, _NAMES), ())


def _steps_of_next(following: Object) -> Iterator[Object]:
    """The steps that `spec.next`, the older form, stands for."""
    for field in ("event", "finalizers"):
        if following.get(field) is not None:
            yield {field: following[field]}
    patches = following.get("patches") or ()
    for number, patch in enumerate(patches):
        yield {"patch": patch, "field": f"patches[{number}]"}
    if following.get("statusTemplate") and not patches:
        patch = {
            "subresource": following.get("statusSubresource") or "status",
            "root": "status",
            "template": following["statusTemplate"],
            "impersonation": following.get("statusPatchAs"),
        }
        yield {"patch": patch, "field": "statusTemplate"}
    if following.get("delete"):
        yield {"delete": True}


def _never(_: Object) -> bool:
    return False


def _values(items: list[Object] | None) -> tuple[str, ...]:
    return tuple(item["value"] for item in items or () if item.get("value"))


def _has_all(field: str, wanted: Mapping[str, str]) -> Matches:
    def matches(value: Object) -> bool:
        present = value["metadata"].get(field) or {}
        return all(present.get(name) == text for name, text in wanted.items())

    return matches
