"""Probes of a container on one line."""

from __future__ import annotations

from urllib.parse import quote

from fairlead.cli.describing.fields import Fields
from fairlead.cli.describing.parts.words import host_and_port, listed

_SAFE_IN_PATH = "/$&+,:;=@!*'()~"


def probe_text(probe: Fields) -> str:
    return f"{_action(probe)} {_timing(probe)}"


def _action(probe: Fields) -> str:
    if probe.has("exec"):
        return f"exec {listed(probe.texts('exec.command'))}"
    if probe.has("httpGet"):
        return f"http-get {_url(probe.part('httpGet'))}"
    if probe.has("tcpSocket"):
        return f"tcp-socket {probe.text('tcpSocket.host')}:{probe.text('tcpSocket.port')}"
    if probe.has("grpc"):
        return f"grpc <pod>:{probe.number('grpc.port')} {probe.text('grpc.service')}"
    return "unknown"


def _url(get: Fields) -> str:
    place = host_and_port(get.text("host"), get.text("port", "0"))
    path = get.text("path")
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{get.text('scheme').lower()}://{place}{quote(path, safe=_SAFE_IN_PATH)}"


def _timing(probe: Fields) -> str:
    seconds = (
        f"{name}={probe.number(path)}s"
        for name, path in (
            ("delay", "initialDelaySeconds"),
            ("timeout", "timeoutSeconds"),
            ("period", "periodSeconds"),
        )
    )
    counts = (
        f"#success={probe.number('successThreshold')} #failure={probe.number('failureThreshold')}"
    )
    return f"{' '.join(seconds)} {counts}"
