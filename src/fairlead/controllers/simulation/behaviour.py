"""Behaviour of simulated pods, from their annotations (docs/simulation.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.codec.types.durations import parse_duration
from fairlead.codec.types.quantity import Amount, QuantityError, amount

PREFIX = "simulation.fairlead/"
_MAX_USAGE = 2**60  # of any resource
_MAX_SECONDS = 10 * 365 * 24 * 3600.0


class BehaviourError(ValueError):
    """An annotation is invalid; the text names it."""


class Obstacle(NamedTuple):
    """Why a container cannot be started: the reason of its waiting state, and the reason and text
    of the event."""

    reason: str
    event: str
    text: str


class Kill(NamedTuple):
    """When a container ends that the agent stops, and with which exit code."""

    end: float
    code: int


class Health(NamedTuple):
    """What the probes of a container say. `kill` if it has to be restarted."""

    is_started: bool = True
    is_ready: bool = True
    kill: Kill | None = None


HEALTHY = Health()


class HookRun(NamedTuple):
    """A postStart hook: when it began, when it ends, also in API format. `kill` if it fails: how
    its container ends."""

    began: float
    began_text: str
    end: float
    kill: Kill | None = None


@dataclass(frozen=True, slots=True)
class ContainerBehaviour:
    """Settings of a container; None means the default of a healthy container. `pull_failure` is the
    error of pulling its image. In seconds: `ready_after` from start to ready, `exit_after` from
    start to exit, `stop_after` from the stop signal to exit. `obstacle` keeps it from starting.
    `runs_command` if its own command decides when it exits, and leaves `message`; at `looks_at`
    that is looked at again. `post_start` runs the hook of a container that starts, given its
    status. `forgiven` restarts do not count for its
    back-off. `cpu_usage` and `memory_usage` are what its metrics show."""

    start_delay: float = 0.0
    pull_failure: str = ""
    never_ready: bool = False
    ready_after: float = 0.0
    exit_code: int | None = None
    exit_after: float | None = None
    stop_after: float | None = None
    log: tuple[str, ...] | None = None
    obstacle: Obstacle | None = None
    runs_command: bool = False
    looks_at: float | None = None
    message: str = ""
    health: Health = HEALTHY
    post_start: Callable[[dict[str, Any]], HookRun] | None = None
    forgiven: int = 0
    cpu_usage: Amount | None = None
    memory_usage: Amount | None = None


WELL_BEHAVED = ContainerBehaviour()


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """The behaviour of a pod's containers: `common`, overridden in `named`. `ends` says when those
    end that run on in a pod that has finished."""

    common: ContainerBehaviour = WELL_BEHAVED
    named: Mapping[str, ContainerBehaviour] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    ends: Mapping[str, Kill] = field(default_factory=dict)

    def of(self, container: str) -> ContainerBehaviour:
        return self.named.get(container, self.common)


PLAIN = PodBehaviour()  # of a pod about which nothing is said


def parse_delay(text: str) -> float:
    """Seconds of a duration such as 5s; raises BehaviourError."""
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


def usage_amount(text: str) -> Amount:
    """How much of a resource is used. Raises BehaviourError."""
    try:
        used = amount(text)
    except QuantityError:
        raise BehaviourError(f'"{text}" is not a quantity such as 250m or 64Mi') from None
    if not 0 <= used.value <= _MAX_USAGE:
        raise BehaviourError(f'"{text}" is out of range')
    return used


# Annotation: the field it sets, and its parser.
_OF_PODS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "start-delay": ("start_delay", parse_delay),
    "image-pull-failure": ("pull_failure", str),
    "never-ready": ("never_ready", _flag),
    "ready-after": ("ready_after", parse_delay),
    "exit-code": ("exit_code", _exit_code),
    "exit-after": ("exit_after", parse_delay),
    "stop-after": ("stop_after", parse_delay),
    "log": ("log", _lines),
    "cpu-usage": ("cpu_usage", usage_amount),
    "memory-usage": ("memory_usage", usage_amount),
}


SCRIPT = "script"  # an annotation that is parsed elsewhere, see annotated_scripts


def pod_behaviour(annotations: Mapping[str, str] | None) -> PodBehaviour:
    """Parse the annotations of a pod. `setting.container` applies to one container. Invalid
    annotations are listed in `problems` and ignored."""
    if not any(key.startswith(PREFIX) for key in annotations or ()):
        return PLAIN
    common: dict[str, Any] = {}
    named: dict[str, dict[str, Any]] = {}
    problems = []
    for key, text in (annotations or {}).items():
        if not key.startswith(PREFIX):
            continue
        name, _, container = key.removeprefix(PREFIX).partition(".")
        setting = _OF_PODS.get(name)
        if name == SCRIPT:
            continue
        if setting is None:
            names = ", ".join(sorted((*_OF_PODS, SCRIPT)))
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
