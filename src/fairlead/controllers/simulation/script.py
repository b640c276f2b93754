"""What tests say that a simulated container does: the part of Behaviour objects and of the `script`
annotation that concerns one container."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from fairlead.codec.types.model import Object

_HEADER = re.compile(r"[-\w.]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Script:
    """`commands` and `ports` are entries as in the schema of Behaviour (behaviours.yaml), the first
    that matches counts. `files` are in the container from its start, `usage` are quantities by
    resource, `pull_failure` is the error of pulling its image. `identity` changes when the script
    does."""

    commands: tuple[Object, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    ports: Mapping[int, Object] = field(default_factory=dict)
    usage: Mapping[str, str] = field(default_factory=dict)
    pull_failure: str = ""
    identity: str = ""


NO_SCRIPT = Script()

# The script of a container of a pod, by name.
ScriptOf = Callable[[Object, str], Script]


@dataclass(frozen=True, slots=True)
class PartialScript:
    """The `spec` of a Behaviour or an annotation, without its selector. It says something of the
    fields `given`."""

    script: Script
    given: frozenset[str]


def partial_script(spec: Object, identity: str) -> PartialScript:
    """`spec` has the schema of Behaviour."""
    script = Script(
        tuple(spec.get("commands") or ()),
        spec.get("files") or {},
        {port["port"]: _with_valid_headers(port) for port in spec.get("ports") or ()},
        {resource: str(quantity) for resource, quantity in (spec.get("usage") or {}).items()},
        spec.get("pullFailure") or "",
        identity,
    )
    return PartialScript(script, frozenset(spec))


def merged(parts: Iterable[PartialScript]) -> Script:
    """For each field the first part that says something of it counts."""
    parts = list(parts)
    if len(parts) < 2:
        return parts[0].script if parts else NO_SCRIPT

    def first(name: str) -> Script:
        return next((part.script for part in parts if name in part.given), NO_SCRIPT)

    return Script(
        first("commands").commands,
        first("files").files,
        first("ports").ports,
        first("usage").usage,
        first("pullFailure").pull_failure,
        " ".join(part.script.identity for part in parts),
    )


def _with_valid_headers(port: Object) -> Object:
    """Schemas cannot restrict the keys of a map."""
    if not any(answer.get("headers") for answer in port.get("http") or ()):
        return port
    return {**port, "http": [_with_headers(answer) for answer in port["http"]]}


def _with_headers(answer: Object) -> Object:
    headers = answer.get("headers") or {}
    valid = {name: text for name, text in headers.items() if _HEADER.fullmatch(name)}
    return {**answer, "headers": valid}
