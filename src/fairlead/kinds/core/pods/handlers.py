"""Probes and lifecycle hooks: what is called in a container, and how often."""

from __future__ import annotations

import re
from collections.abc import Callable

from fairlead.kinds.behaviour import Object
from fairlead.kinds.causes import Causes
from fairlead.kinds.rules import NON_NEGATIVE, POSITIVE, port_or_name

SCHEMES = ("HTTP", "HTTPS")
MORE_THAN_ONE = "may not specify more than 1 handler type"
HEADER_ERROR = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name',"
    " regex used for validation is '[-A-Za-z0-9]+')"
)
_HEADER = re.compile(r"\A[-A-Za-z0-9]+\Z", re.ASCII)
_COUNTS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def _check_exec(action: Object, path: str, causes: Causes) -> None:
    if not action.get("command"):
        causes.required(f"{path}.command")


def _check_http(action: Object, path: str, causes: Causes) -> None:
    if not action.get("path"):
        causes.required(f"{path}.path")
    _check_port(action, path, causes)
    scheme = action.get("scheme", "")
    if scheme not in SCHEMES:
        causes.unsupported(f"{path}.scheme", scheme, SCHEMES)
    for header in action.get("httpHeaders") or ():
        if not _HEADER.match(header["name"]):
            causes.invalid(f"{path}.httpHeaders", header["name"], HEADER_ERROR)


def _check_port(action: Object, path: str, causes: Causes) -> None:
    port = action["port"]
    if port.__class__ is not int or not 1 <= port <= 65535:
        port_or_name(port, f"{path}.port", causes)


_HANDLERS: dict[str, Callable[[Object, str, Causes], None]] = {
    "exec": _check_exec,
    "httpGet": _check_http,
    "tcpSocket": _check_port,
    "grpc": _check_port,
}


def check_handler(handler: Object, path: str, causes: Causes) -> None:
    """Exactly one way to call: the first one given counts."""
    given = [name for name in _HANDLERS if name in handler]
    for name in given[:1]:
        _HANDLERS[name](handler[name], f"{path}.{name}", causes)
    for name in given[1:]:
        causes.forbidden(f"{path}.{name}", MORE_THAN_ONE)
    if not given:
        causes.required(path, "must specify a handler type")


def _check_probe(probe: Object, path: str, causes: Causes) -> None:
    check_handler(probe, path, causes)
    for name in _COUNTS:
        if name in probe and probe[name] < 0:
            causes.invalid(f"{path}.{name}", probe[name], NON_NEGATIVE)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        causes.invalid(f"{path}.terminationGracePeriodSeconds", grace, POSITIVE)


def check_probes(container: Object, path: str, causes: Causes) -> None:
    """The three probes of a container, each with what only it must obey."""
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        probe_path = f"{path}.{name}"
        _check_probe(probe, probe_path, causes)
        if name == "readinessProbe":
            grace = probe.get("terminationGracePeriodSeconds")
            if grace is not None:
                field = f"{probe_path}.terminationGracePeriodSeconds"
                causes.invalid(field, grace, "must not be set for readinessProbes")
        elif probe.get("successThreshold", 0) != 1:
            threshold = probe.get("successThreshold", 0)
            causes.invalid(f"{probe_path}.successThreshold", threshold, "must be 1")


def check_lifecycle(lifecycle: Object, path: str, causes: Causes) -> None:
    for name in ("postStart", "preStop"):
        if lifecycle.get(name) is not None:
            check_handler(lifecycle[name], f"{path}.{name}", causes)
