"""Behaviour of simulated pods and nodes, from their annotations (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.codec.types.times import parse_duration

PREFIX = "simulation.fairlead/"
_MAX_SECONDS = 10 * 365 * 24 * 3600.0


class BehaviourError(ValueError):
    """An annotation is invalid; the text names it."""


class Obstacle(NamedTuple):
    """Why a container cannot be started: the reason of its waiting state, and the reason and text
    of the event."""

    reason: str
    event: str
    text: str


@dataclass(frozen=True, slots=True)
class ContainerBehaviour:
    """Settings of a container; None means the default of a healthy container. `pull_failure` is the
    error of pulling its image. In seconds: `ready_after` from start to ready, `exit_after` from
    start to exit, `stop_after` from the stop signal to exit. `obstacle` keeps it from starting."""

    start_delay: float = 0.0
    pull_failure: str = ""
    never_ready: bool = False
    ready_after: float = 0.0
    exit_code: int | None = None
    exit_after: float | None = None
    stop_after: float = 0.0
    log: tuple[str, ...] | None = None
    obstacle: Obstacle | None = None


WELL_BEHAVED = ContainerBehaviour()


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """The behaviour of a pod's containers: `common`, overridden in `named`."""

    common: ContainerBehaviour = WELL_BEHAVED
    named: Mapping[str, ContainerBehaviour] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, container: str) -> ContainerBehaviour:
        return self.named.get(container, self.common)


def _time(text: str) -> float:
    try:
        seconds = parse_duration(text)
    except ValueError:
        raise BehaviourError(f'"{text}" is not a duration such as 5s or 1m30s') from None
    if not 0 <= seconds <= _MAX_SECONDS:
        raise BehaviourError(f'"{text}" is out of range')
    return seconds


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise BehaviourError(f'"{text}" is neither "true" nor "false"')
    return text == "true"


def _exit_code(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 3 or int(text) > 255:
        raise BehaviourError(f'"{text}" is not an exit code: 0 to 255')
    return int(text)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


# Annotation: the field it sets, and its parser.
_OF_PODS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "start-delay": ("start_delay", _time),
    "image-pull-failure": ("pull_failure", str),
    "never-ready": ("never_ready", _flag),
    "ready-after": ("ready_after", _time),
    "exit-code": ("exit_code", _exit_code),
    "exit-after": ("exit_after", _time),
    "stop-after": ("stop_after", _time),
    "log": ("log", _lines),
}


def pod_behaviour(annotations: Mapping[str, str] | None) -> PodBehaviour:
    """Parse the annotations of a pod. `setting.container` applies to one container. Invalid
    annotations are listed in `problems` and ignored."""
    common: dict[str, Any] = {}
    named: dict[str, dict[str, Any]] = {}
    problems = []
    for key, text in (annotations or {}).items():
        if not key.startswith(PREFIX):
            continue
        name, _, container = key.removeprefix(PREFIX).partition(".")
        setting = _OF_PODS.get(name)
        if setting is None:
            names = ", ".join(sorted(_OF_PODS))
            problems.append(f"{key}: there is no such setting; known are {names}")
            continue
        try:
            value = setting[1](text)
        except BehaviourError as error:
            problems.append(f"{key}: {error}")
            continue
        (named.setdefault(container, {}) if container else common)[setting[0]] = value
    return PodBehaviour(
        ContainerBehaviour(**common),
        {name: ContainerBehaviour(**{**common, **own}) for name, own in named.items()},
        tuple(problems),
    )


READY, NOT_READY, UNREACHABLE = "ready", "not-ready", "unreachable"
NODE_STATE = f"{PREFIX}node-state"


def node_state(annotations: Mapping[str, str] | None) -> str:
    """The state that a node simulates: ready, not ready, or silent. Raises BehaviourError."""
    text = (annotations or {}).get(NODE_STATE, READY)
    if text not in (READY, NOT_READY, UNREACHABLE):
        allowed = f"{READY}, {NOT_READY}, {UNREACHABLE}"
        raise BehaviourError(f'{NODE_STATE}: "{text}" is none of {allowed}')
    return text
