"""Finds the pod template of an object, and patches selected objects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fairlead.cli.apply.changes import type_of
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_objects import add_local_flag
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    note,
    write_query,
)
from fairlead.client.resources import STRATEGIC_PATCH
from fairlead.fields import strategic

Object = dict[str, Any]
# The patch of an object, empty if nothing changes; raises CommandFailed.
Change = Callable[[ResolvedObject], Object | Awaitable[Object]]

CONTAINER_LISTS = ("initContainers", "containers")
_PATHS = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
        ("spec", "template", "spec"),
    ),
}


def add_change_flags(parser: ArgumentReader, command: str, words: str) -> None:
    parser.add_argument("words", metavar=words, nargs="*")
    add_selection_flags(parser, "change")
    add_local_flag(parser)
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, f"fairlead-{command}")


def add_container_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-c",
        "--containers",
        metavar="NAMES",
        default="*",
        help="only containers of this name; * stands for any letters",
    )


def pod_spec(resolved: ResolvedObject) -> Object:
    """The spec of the pods of an object; raises CommandFailed if it has none."""
    value: Any = resolved.value
    for step in _path(resolved):
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, dict):
        raise CommandError(f"{title(resolved)} has no pod template")
    return value


def pod_patch(resolved: ResolvedObject, spec: Object) -> Object:
    """The patch of an object that patches the spec of its pods; empty if `spec` is."""
    patch = spec
    for step in reversed(_path(resolved)):
        patch = {step: patch} if patch else {}
    return patch


def _path(resolved: ResolvedObject) -> tuple[str, ...]:
    kind = resolved.resource.type.kind
    if kind not in _PATHS:
        raise CommandError(f"{title(resolved)} has no pod template")
    return _PATHS[kind]


def title(resolved: ResolvedObject) -> str:
    """The name of an object in messages: deployments/web."""
    return f"{resolved.resource.type.name}/{resolved.name}"


def containers(spec: Object, pattern: str = "*") -> list[tuple[str, Object]]:
    """The containers of a pod whose names fit the pattern, each with the list that it is in."""
    return [
        (name, container)
        for name in CONTAINER_LISTS
        for container in spec.get(name) or ()
        if fnmatchcase(str(container.get("name")), pattern)
    ]


def container_patch(changed: Sequence[tuple[str, Object]]) -> Object:
    """The patch of the spec of a pod: for each list the patches of its containers."""
    patch: Object = {}
    for name, container in changed:
        patch.setdefault(name, []).append(container)
    return patch


async def change_selected(
    invocation: Invocation, words: Sequence[str], change: Change, what: str
) -> int:
    """Patch all selected objects and return the exit code. `what` is what is updated."""
    check_output(invocation)
    check_choice(invocation, words)
    failures = Failures()
    objects = [resolved async for resolved in select_objects(invocation, words, failures)]
    if not objects and not failures:
        raise CommandError("no objects were selected")
    for resolved in objects:
        try:
            made = change(resolved)
            patch = made if isinstance(made, dict) else await made
            value = await _patched(invocation, resolved, patch) if patch else resolved.value
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
            continue
        action = f"{what} updated" if patch else f"{what} unchanged"
        show_result(invocation, resolved.resource.type, value, action, note(invocation.options))
    return failures.finish()


async def _patched(invocation: Invocation, resolved: ResolvedObject, patch: Object) -> Object:
    if dry_run(invocation.options) == "client":
        struct = type_of(await invocation.client.discovery.dialect(), resolved.resource.type)
        if struct is None:
            raise CommandError(f"{title(resolved)}: its kind is unknown here: --dry-run=server")
        return strategic.apply_strategic_patch(struct, resolved.value, patch)
    return await resolved.resource.patch(
        resolved.name,
        patch,
        resolved.namespace,
        type=STRATEGIC_PATCH,
        **write_query(invocation.options),
    )
