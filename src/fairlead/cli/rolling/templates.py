"""The pods of a revision as text: for `rollout history --revision` and dry runs of `undo`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
_NONE = "<none>"
_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PROBES = {
    "livenessProbe": "Liveness",
    "readinessProbe": "Readiness",
    "startupProbe": "Startup",
}
# What volumes are called, and their fields: label, name of the field, what stands for none.
_VOLUMES: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "emptyDir": (
        "EmptyDir (a temporary directory that shares a pod's lifetime)",
        (("Medium", "medium", ""), ("SizeLimit", "sizeLimit", "<unset>")),
    ),
    "hostPath": (
        "HostPath (bare host directory volume)",
        (("Path", "path", ""), ("HostPathType", "type", "")),
    ),
    "configMap": (
        "ConfigMap (a volume populated by a ConfigMap)",
        (("Name", "name", ""), ("Optional", "optional", "false")),
    ),
    "secret": (
        "Secret (a volume populated by a Secret)",
        (("SecretName", "secretName", ""), ("Optional", "optional", "false")),
    ),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        (("ClaimName", "claimName", ""), ("ReadOnly", "readOnly", "false")),
    ),
    "nfs": (
        "NFS (an NFS mount that lasts the lifetime of a pod)",
        (("Server", "server", ""), ("Path", "path", ""), ("ReadOnly", "readOnly", "false")),
    ),
    "projected": ("Projected (a volume that contains injected data from multiple sources)", ()),
    "downwardAPI": ("DownwardAPI (a volume populated by information about the pod)", ()),
    "ephemeral": (
        "EphemeralVolume (an inline specification for a volume that gets created and deleted"
        " with the pod)",
        (),
    ),
    "csi": (
        "CSI (a Container Storage Interface (CSI) volume source)",
        (("Driver", "driver", ""), ("FSType", "fsType", ""), ("ReadOnly", "readOnly", "false")),
    ),
}


def template_text(template: Object) -> str:
    """Without the last line's end."""
    # Lines that go on with what stands above begin at the very left, as people know them.
    lines = (line if line[0] == "\t" else f"  {line}" for line in _lines(template))
    return "\n".join(("Pod Template:", *lines))


def _lines(template: Object) -> Iterator[str]:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    yield from _pairs("Labels", "=", metadata.get("labels"))
    if metadata.get("annotations"):
        yield from _pairs("Annotations", ": ", metadata["annotations"])
    if spec.get("serviceAccountName"):
        yield f"Service Account:\t{spec['serviceAccountName']}"
    for title, name in (("Init Containers", "initContainers"), ("Containers", "containers")):
        if spec.get(name) or name == "containers":
            yield f"{title}:"
            for container in spec.get(name) or ():
                yield f" {container.get('name', '')}:"
                yield from _indented(_container(container), "  ")
    yield from _volumes(spec.get("volumes") or ())
    if spec.get("priorityClassName"):
        yield f"Priority Class Name:\t{spec['priorityClassName']}"


def _indented(lines: Iterable[str], by: str) -> Iterator[str]:
    return (f"{by}{line}" for line in lines)


def _pairs(title: str, sign: str, values: Mapping[str, str] | None) -> Iterator[str]:
    shown = [f"{key}{sign}{value}" for key, value in sorted((values or {}).items())]
    first, *others = shown or [_NONE]
    yield f"{title}:\t{first}"
    yield from _indented(others, "\t")


def _container(container: Object) -> Iterator[str]:
    yield f"Image:\t{container.get('image', '')}"
    ports = container.get("ports") or ()
    plural = "s" if len(ports) > 1 else ""
    for title, name in (("Port", "containerPort"), ("Host Port", "hostPort")):
        yield f"{title}{plural}:\t{_ports(ports, name)}"
    for title, name in (("Command", "command"), ("Args", "args")):
        if container.get(name):
            yield f"{title}:"
            yield from _indented(
                (line for one in container[name] for line in one.split("\n")), "  "
            )
    for title, amounts in (container.get("resources") or {}).items():
        if title in ("limits", "requests") and amounts:
            yield f"{title.capitalize()}:"
            yield from (f"  {name}:\t{amount}" for name, amount in sorted(amounts.items()))
    for name, title in _PROBES.items():
        if container.get(name):
            yield f"{title}:\t{_probe(container[name])}"
    yield from _environment(container)
    yield from _mounts(container)


def _ports(ports: Sequence[Object], name: str) -> str:
    shown = [f"{port.get(name, 0)}/{port.get('protocol', 'TCP')}" for port in ports]
    return ", ".join(shown) or _NONE


def _probe(probe: Object) -> str:
    delay = probe.get("initialDelaySeconds", 0)
    numbers = [probe.get(name, usual) for name, usual in _DEFAULTS.items()]
    ends = "delay={}s timeout={}s period={}s #success={} #failure={}".format(delay, *numbers)
    if probe.get("exec"):
        return f"exec [{' '.join(probe['exec'].get('command') or ())}] {ends}"
    if probe.get("httpGet"):
        http = probe["httpGet"]
        place = f"{http.get('host', '')}:{http.get('port', '')}"
        scheme = http.get("scheme", "HTTP").lower()
        return f"http-get {scheme}://{place}{http.get('path', '')} {ends}"
    if probe.get("tcpSocket"):
        socket = probe["tcpSocket"]
        return f"tcp-socket {socket.get('host', '')}:{socket.get('port', '')} {ends}"
    if probe.get("grpc"):
        service = probe["grpc"].get("service") or ""
        return f"grpc <pod>:{probe['grpc'].get('port', '')} {service} {ends}"
    return f"unknown {ends}"


def _environment(container: Object) -> Iterator[str]:
    sources = container.get("envFrom") or ()
    if sources:
        yield "Environment Variables from:"
    for one in sources:
        kind, reference = "ConfigMap", one.get("configMapRef")
        if reference is None:
            kind, reference = "Secret", one.get("secretRef") or {}
        prefix = f" with prefix '{one['prefix']}'" if one.get("prefix") else ""
        optional = _truth(reference.get("optional"))
        yield f"  {reference.get('name', '')}\t{kind}{prefix}\tOptional: {optional}"
    variables = container.get("env") or ()
    yield "Environment:" if variables else f"Environment:\t{_NONE}"
    for one in variables:
        if one.get("valueFrom"):
            yield f"  {one['name']}:\t{_reference(one['valueFrom'], container)}"
        else:
            first, *others = str(one.get("value", "")).split("\n")
            yield f"  {one['name']}:\t{first}"
            yield from _indented(others, "  \t")


def _reference(source: Object, container: Object) -> str:
    if source.get("fieldRef"):
        field = source["fieldRef"]
        return f" ({field.get('apiVersion', 'v1')}:{field.get('fieldPath', '')})"
    if source.get("resourceFieldRef"):
        name = source["resourceFieldRef"].get("resource", "")
        part, _, amount = name.partition(".")
        known = (container.get("resources") or {}).get(part) or {}
        return f"{known.get(amount, 0)} ({name})"
    if source.get("secretKeyRef"):
        key = source["secretKeyRef"]
        what = f"<set to the key '{key.get('key', '')}' in secret '{key.get('name', '')}'>"
    else:
        key = source.get("configMapKeyRef") or {}
        what = f"<set to the key '{key.get('key', '')}' of config map '{key.get('name', '')}'>"
    return f"{what}\tOptional: {_truth(key.get('optional'))}"


def _mounts(container: Object) -> Iterator[str]:
    mounts = sorted(container.get("volumeMounts") or (), key=lambda one: str(one["mountPath"]))
    yield "Mounts:" if mounts else f"Mounts:\t{_NONE}"
    for one in mounts:
        flags = "ro" if one.get("readOnly") else "rw"
        path = f',path="{one["subPath"]}"' if one.get("subPath") else ""
        yield f"  {one['mountPath']} from {one['name']} ({flags}{path})"
    devices = sorted(container.get("volumeDevices") or (), key=lambda one: str(one["devicePath"]))
    if devices:
        yield "Devices:"
        yield from (f"  {one['devicePath']} from {one['name']}" for one in devices)


def _volumes(volumes: Sequence[Object]) -> Iterator[str]:
    yield "Volumes:" if volumes else f"Volumes:\t{_NONE}"
    for volume in volumes:
        yield f" {volume['name']}:"
        kind = next((name for name in volume if name != "name"), "")
        title, fields = _VOLUMES.get(kind, (kind or "<unknown>", ()))
        yield f"  Type:\t{title}"
        source = volume.get(kind) or {}
        for label, name, absent in fields:
            shown = source.get(name)
            text = _truth(shown) if isinstance(shown, bool) else shown
            yield f"  {label}:\t{absent if text is None else text}"
        if kind == "projected":
            yield from _indented(_projected(source), "  ")
        if kind == "downwardAPI":
            yield "  Items:"
            yield from (
                f"    {(one.get('fieldRef') or {}).get('fieldPath', '')} -> {one['path']}"
                for one in source.get("items") or ()
            )


def _projected(source: Object) -> Iterator[str]:
    for one in source.get("sources") or ():
        if one.get("secret"):
            yield f"SecretName:\t{one['secret'].get('name', '')}"
            yield f"SecretOptionalName:\t{_truth(one['secret'].get('optional'), '<nil>')}"
        elif one.get("configMap"):
            yield f"ConfigMapName:\t{one['configMap'].get('name', '')}"
            yield f"ConfigMapOptional:\t{_truth(one['configMap'].get('optional'), '<nil>')}"
        elif one.get("downwardAPI") is not None:
            yield "DownwardAPI:\ttrue"
        elif one.get("serviceAccountToken"):
            seconds = one["serviceAccountToken"].get("expirationSeconds", "")
            yield f"TokenExpirationSeconds:\t{seconds}"


def _truth(value: Any, absent: str = "false") -> str:
    return absent if value is None else str(bool(value)).lower()
