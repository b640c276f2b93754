"""Draws containers of a pod or pod template."""

from __future__ import annotations

import json
from decimal import ROUND_CEILING
from urllib.parse import quote

from fairlead.cli.describe.fields import Fields
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.quantities import amount_of, draw_limits_and_requests
from fairlead.cli.describe.parts.values import NONE, host_and_port, in_full, listed, yes_or_no

_PROBES = (
    ("Liveness", "livenessProbe"),
    ("Readiness", "readinessProbe"),
    ("Startup", "startupProbe"),
)
_SAFE_IN_PATH = "/$&+,:;=@!*'()~"
# Pod fields whose value is shown; of others only the path.
_KNOWN_FIELDS = ("metadata.name", "metadata.namespace")
_OF_THE_NODE = ("limits.cpu", "limits.memory")


def draw_containers(
    page: Page, name: str, containers: list[Fields], statuses: list[Fields], pod: Fields
) -> None:
    """`pod` is empty for a template, which is indented one level further."""
    of_template = not pod.has()
    page.write(f"{name}:" if containers else f"{name}: {NONE}", int(of_template))
    by_name = {status.text("name"): status for status in statuses}
    for container in containers:
        page.write(f"{' ' * of_template}{container.text('name')}:", 1)
        status = by_name.get(container.text("name"), Fields(None))
        _draw_container(page, container, status, pod)


def _draw_container(page: Page, container: Fields, status: Fields, pod: Fields) -> None:
    _draw_image(page, container, status)
    page.pairs_if(("Restart Policy", container.text("restartPolicy")), level=2)
    draw_security_profile(page, container, 2, 3)
    for name, path in (("Command", "command"), ("Args", "args")):
        words = container.texts(path)
        if words:
            page.write(f"{name}:", 2)
        for word in words:
            for line in word.split("\n"):
                page.write(line, 3)
    if status.has():
        _draw_status(page, status)
    draw_limits_and_requests(page, container.part("resources"), 2)
    for name, path in _PROBES:
        if container.has(path):
            page.pair(name, probe_text(container.part(path)), 2)
    draw_environment(page, container, pod)
    _draw_mounts(page, container)


def _draw_image(page: Page, container: Fields, status: Fields) -> None:
    has_status = status.has()
    if has_status:
        page.pair("Container ID", status.text("containerID"), 2)
    page.pair("Image", container.text("image"), 2)
    if has_status:
        page.pair("Image ID", status.text("imageID"), 2)
    for name, path in (("Port", "containerPort"), ("Host Port", "hostPort")):
        ports = [
            f"{port.number(path)}/{port.text('protocol')}" for port in container.items("ports")
        ]
        page.pair(f"{name}s" if len(ports) > 1 else name, ", ".join(ports) or NONE, 2)


def draw_security_profile(page: Page, value: Fields, level: int, inner: int) -> None:
    """The seccomp profile of a container or a pod."""
    profile = value.part("securityContext.seccompProfile")
    if profile.has():
        page.pair("SeccompProfile", profile.text("type"), level)
        if profile.text("type") == "Localhost":
            page.pair("LocalhostProfile", profile.text("localhostProfile"), inner)


def _draw_status(page: Page, status: Fields) -> None:
    _draw_state(page, "State", status.part("state"))
    if status.has("lastState.terminated"):
        _draw_state(page, "Last State", status.part("lastState"))
    page.pair("Ready", yes_or_no(status.flag("ready")), 2)
    page.pair("Restart Count", status.number("restartCount"), 2)


def _draw_state(page: Page, name: str, state: Fields) -> None:
    if state.has("running"):
        page.pair(name, "Running", 2)
        page.pair("Started", in_full(state.at("running.startedAt")), 3)
    elif state.has("terminated") and not state.has("waiting"):
        page.pair(name, "Terminated", 2)
        _draw_end(page, state.part("terminated"))
    else:
        page.pair(name, "Waiting", 2)
        page.pairs_if(("Reason", state.text("waiting.reason")), level=3)


def _draw_end(page: Page, end: Fields) -> None:
    page.pairs_if(("Reason", end.text("reason")), ("Message", end.text("message")), level=3)
    page.pair("Exit Code", end.number("exitCode"), 3)
    if end.number("signal") > 0:
        page.pair("Signal", end.number("signal"), 3)
    page.pair("Started", in_full(end.at("startedAt")), 3)
    page.pair("Finished", in_full(end.at("finishedAt")), 3)


def _draw_mounts(page: Page, container: Fields) -> None:
    mounts = sorted(container.items("volumeMounts"), key=lambda mount: mount.text("mountPath"))
    none = "" if mounts else f"\t{NONE}"
    page.write(f"Mounts:{none}", 2)
    for mount in mounts:
        ways = "ro" if mount.flag("readOnly") else "rw"
        if mount.text("subPath"):
            ways += f",path={json.dumps(mount.text('subPath'), ensure_ascii=False)}"
        page.write(f"{mount.text('mountPath')} from {mount.text('name')} ({ways})", 3)
    devices = sorted(container.items("volumeDevices"), key=lambda device: device.text("devicePath"))
    if devices:
        page.write(f"Devices:{none}", 2)
    for device in devices:
        page.write(f"{device.text('devicePath')} from {device.text('name')}", 3)


# Probes on one line


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
    address = host_and_port(get.text("host"), get.text("port", "0"))
    path = get.text("path")
    if path and not path.startswith("/"):
        path = f"/{path}"
    return f"{get.text('scheme').lower()}://{address}{quote(path, safe=_SAFE_IN_PATH)}"


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


# Environment variables


def draw_environment(page: Page, container: Fields, pod: Fields) -> None:
    """`pod` is empty for a template."""
    _draw_sources(page, container)
    variables = container.items("env")
    if not variables:
        page.pair("Environment", NONE, 2)
        return
    page.write("Environment:", 2)
    for variable in variables:
        lines = _value(variable, container, pod)
        page.pair(variable.text("name"), lines[0], 3)
        for line in lines[1:]:
            page.write(f"\t{line}", 3)


def _draw_sources(page: Page, container: Fields) -> None:
    sources = container.items("envFrom")
    if sources:
        page.write("Environment Variables from:", 2)
    for source in sources:
        kind, path = ("ConfigMap", "configMapRef")
        if not source.has(path):
            kind, path = ("Secret", "secretRef") if source.has("secretRef") else ("", "")
        prefix = source.text("prefix")
        what = f"{kind} with prefix '{prefix}'" if prefix else kind
        reference = source.part(path) if path else Fields(None)
        page.row(reference.text("name"), what, _optional(reference), level=3)


def _value(variable: Fields, container: Fields, pod: Fields) -> list[str]:
    source = variable.part("valueFrom")
    if source.has("fieldRef"):
        path = source.text("fieldRef.fieldPath")
        text = pod.text(path) if path in _KNOWN_FIELDS else ""
        return [f"{text} ({source.text('fieldRef.apiVersion')}:{path})"]
    if source.has("resourceFieldRef"):
        reference = source.part("resourceFieldRef")
        return [f"{_resource(reference, container)} ({reference.text('resource')})"]
    if source.has("secretKeyRef"):
        key = source.part("secretKeyRef")
        where = f"in secret '{key.text('name')}'"
        return [f"<key '{key.text('key')}' {where}>\t{_optional(key)}"]
    if source.has("configMapKeyRef"):
        key = source.part("configMapKeyRef")
        where = f"of config map '{key.text('name')}'"
        return [f"<key '{key.text('key')}' {where}>\t{_optional(key)}"]
    if source.has("fileKeyRef"):
        key = source.part("fileKeyRef")
        where = f"in file '{key.text('path')}' of volume '{key.text('volumeName')}'"
        return [f"<key '{key.text('key')}' {where}>\t{_optional(key)}"]
    return variable.text("value").split("\n")


def _resource(reference: Fields, container: Fields) -> str:
    """The container's amount of a resource, in units of the divisor."""
    resource = reference.text("resource")
    kind, _, name = resource.partition(".")
    if kind not in ("limits", "requests"):
        return ""
    has = amount_of(Fields(container.part(f"resources.{kind}").map().get(name))).value
    divisor = amount_of(reference.part("divisor")).value or 1
    units = int((has / divisor).to_integral_value(ROUND_CEILING))
    return "node allocatable" if not units and resource in _OF_THE_NODE else str(units)


def _optional(reference: Fields) -> str:
    return f"Optional: {'true' if reference.flag('optional') else 'false'}"
