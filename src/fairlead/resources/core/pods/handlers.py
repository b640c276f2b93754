"""Validation of probes and lifecycle hooks."""

from __future__ import annotations

import re
from typing import Final

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.pods.container_lists import PROBES
from fairlead.resources.rules import (
    NON_NEGATIVE,
    POSITIVE,
    is_usual_port_name,
    port_name,
    port_number,
)

SCHEMES: Final[tuple[str, ...]] = ("HTTP", "HTTPS")
MORE_THAN_ONE = "may not specify more than 1 handler type"
HEADER_ERROR = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name',"
    " regex used for validation is '[-A-Za-z0-9]+')"
)
_HEADER = re.compile(r"\A[-A-Za-z0-9]+\Z", re.ASCII)
_COUNTS: Final[tuple[str, ...]] = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def _check_http(action: Object, path: str, causes: Causes) -> None:
    if not action.get("path"):
        causes.required(f"{path}.httpGet.path")
    _check_port(action, path, "httpGet", causes)
    scheme: str = action.get("scheme", "")
    if scheme not in SCHEMES:
        causes.unsupported(f"{path}.httpGet.scheme", scheme, SCHEMES)
    headers: list[Object] | None = action.get("httpHeaders")
    for header in headers or ():
        if not _HEADER.match(header["name"]):
            causes.invalid(f"{path}.httpGet.httpHeaders", header["name"], HEADER_ERROR)


def _check_port(action: Object, path: str, field: str, causes: Causes) -> None:
    port: int | str = action["port"]
    if isinstance(port, str):
        if not is_usual_port_name(port):
            port_name(port, f"{path}.{field}.port", causes)
    elif not 1 <= port <= 65535:
        port_number(port, f"{path}.{field}.port", causes)


_HANDLERS: Final[tuple[str, ...]] = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def check_handler(handler: Object, path: str, causes: Causes, grace: int | None = None) -> None:
    """Exactly one handler must be set; the first that is set is checked. `grace` is the grace
    period of the pod."""
    has_handler = False
    for name in _HANDLERS:
        if name not in handler:
            continue
        if has_handler:
            causes.forbidden(f"{path}.{name}", MORE_THAN_ONE)
        else:
            has_handler = True
            if name == "sleep":
                _check_sleep(handler[name], grace, f"{path}.sleep", causes)
            else:
                _check_action(name, handler[name], path, causes)
    if not has_handler:
        causes.required(path, "must specify a handler type")


def _check_action(name: str, action: Object, path: str, causes: Causes) -> None:
    if name == "exec":
        if not action.get("command"):
            causes.required(f"{path}.exec.command")
    elif name == "httpGet":
        _check_http(action, path, causes)
    else:
        _check_port(action, path, name, causes)


def _check_probe(probe: Object, path: str, causes: Causes) -> None:
    check_handler(probe, path, causes)
    for name in _COUNTS:
        count: int | None = probe.get(name)
        if count is not None and count < 0:
            causes.invalid(f"{path}.{name}", count, NON_NEGATIVE)
    grace: int | None = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        causes.invalid(f"{path}.terminationGracePeriodSeconds", grace, POSITIVE)


def check_probes(container: Object, path: str, causes: Causes) -> None:
    """Check the three probes of a container, with the rules of each."""
    for name in PROBES:
        probe: Object | None = container.get(name)
        if probe is None:
            continue
        probe_path = f"{path}.{name}"
        _check_probe(probe, probe_path, causes)
        if name == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                field = f"{probe_path}.terminationGracePeriodSeconds"
                causes.invalid(field, grace, "must not be set for readinessProbes")
        else:
            threshold: int = probe.get("successThreshold", 0)
            if threshold != 1:
                causes.invalid(f"{probe_path}.successThreshold", threshold, "must be 1")


def _check_sleep(action: Object, grace: int | None, path: str, causes: Causes) -> None:
    seconds: int = action["seconds"]
    if grace is not None and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        causes.invalid(path, seconds, detail)


def check_lifecycle(lifecycle: Object, spec: Object, path: str, causes: Causes) -> None:
    """Check the hooks of a container of the pod with `spec`."""
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            grace: int | None = spec.get("terminationGracePeriodSeconds")
            check_handler(lifecycle[name], f"{path}.{name}", causes, grace)
    if "stopSignal" in lifecycle:
        _check_stop_signal(lifecycle["stopSignal"], spec.get("os"), f"{path}.stopSignal", causes)


_NUMBERED_SIGNALS: Final = (
    *("SIGRTMAX", *(f"SIGRTMAX-{number}" for number in range(1, 15))),
    *("SIGRTMIN", *(f"SIGRTMIN+{number}" for number in range(1, 16))),
)
_NAMED_SIGNALS: Final = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT"
    " STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ"
)
STOP_SIGNALS: Final[dict[str, tuple[str, ...]]] = {
    "linux": tuple(
        sorted((*_NUMBERED_SIGNALS, *(f"SIG{name}" for name in _NAMED_SIGNALS.split())))
    ),
    "windows": ("SIGKILL", "SIGTERM"),
}


def _check_stop_signal(signal: str, system: Object | None, path: str, causes: Causes) -> None:
    if system is None:
        causes.forbidden(path, "may not be set for containers with empty `spec.os.name`")
        return
    supported = STOP_SIGNALS.get(system["name"])
    if supported is not None and signal not in supported:
        causes.unsupported(path, signal, supported)
