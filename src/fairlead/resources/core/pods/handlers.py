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


_HANDLERS: Final[tuple[str, ...]] = ("exec", "httpGet", "tcpSocket", "grpc")


def check_handler(handler: Object, path: str, causes: Causes) -> None:
    """Exactly one handler must be set; the first that is set is checked."""
    has_handler = False
    for name in _HANDLERS:
        if name not in handler:
            continue
        if has_handler:
            causes.forbidden(f"{path}.{name}", MORE_THAN_ONE)
        else:
            has_handler = True
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


def check_lifecycle(lifecycle: Object, path: str, causes: Causes) -> None:
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            check_handler(lifecycle[name], f"{path}.{name}", causes)
