"""Validation of references to fields and resources of a pod, in its environment and files."""

from __future__ import annotations

from fairlead.codec.types.names import qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes

RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_KNOWN_RESOURCES = frozenset(RESOURCES)
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
# Every field that the conversion of field labels knows; each use allows some of them.
_FIELDS = frozenset(
    (
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.podIP",
        "status.podIPs",
    )
)
_OLD_NAMES = {"spec.host": "spec.nodeName"}
_CPU_DIVISORS = ("1m", "1")
_BYTES = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_BYTE_DIVISORS = tuple(_BYTES.split(", "))
# Allowed divisors of a resource (without `limits.` or `requests.`), and the words for both in
# messages.
_DIVISORS = {
    "cpu": (_CPU_DIVISORS, "1m and 1", "cpu"),
    "memory": (_BYTE_DIVISORS, _BYTES, "memory"),
    "ephemeral-storage": (_BYTE_DIVISORS, _BYTES, "local ephemeral storage"),
    "hugepages": (_BYTE_DIVISORS, _BYTES, "hugepages"),
}


def check_field_reference(
    reference: Object, allowed: tuple[str, ...], parent: str, causes: Causes
) -> None:
    """Check the `fieldRef` of the object at `parent`; `allowed` are the fields that it may use,
    sorted."""
    version: str = reference.get("apiVersion", "")
    field: str = reference["fieldPath"]
    if version == "v1" and field in allowed:
        return
    path = f"{parent}.fieldRef"
    if not version:
        causes.required(f"{path}.apiVersion")
        return
    if not field:
        causes.required(f"{path}.fieldPath")
        return
    if _OLD_NAMES.get(field, field) in allowed and version == "v1":
        return
    name, subscript = _split(field)
    error = _conversion_error(version, name, field)
    if error:
        causes.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {error}")
    elif subscript is not None:
        _check_subscript(name, subscript, path, causes)
    else:
        causes.unsupported(f"{path}.fieldPath", _OLD_NAMES.get(field, field), allowed)


def _split(field: str) -> tuple[str, str | None]:
    """Split off the subscript of a field: `metadata.labels['key']`."""
    start = field.find("['", 1)
    if start < 0 or not field.endswith("']") or len(field) < start + 4:
        return field, None
    return field[:start], field[start + 2 : -2]


def _conversion_error(version: str, name: str, field: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if name != field:
        is_map = name in ("metadata.annotations", "metadata.labels")
        return "" if is_map else f"field label does not support subscript: {field}"
    return "" if field in _FIELDS or field in _OLD_NAMES else f"field label not supported: {field}"


def _check_subscript(name: str, key: str, path: str, causes: Causes) -> None:
    if name == "metadata.annotations":
        key = key.lower()
    causes.invalid_each(path, key, qualified_name(key))


def check_resource_reference(
    reference: Object, path: str, causes: Causes, *, in_volume: bool = False
) -> None:
    """Check a `resourceFieldRef`; in a volume it must name the container."""
    resource = reference["resource"]
    if in_volume and not reference.get("containerName"):
        causes.required(f"{path}.containerName")
    elif not resource:
        causes.required(f"{path}.resource")
    elif resource not in _KNOWN_RESOURCES and not resource.startswith(_HUGE_PAGES):
        causes.unsupported(f"{path}.resource", resource, RESOURCES)
    divisor = reference.get("divisor", "0")
    if divisor != "0":
        _check_divisor(resource, divisor, path, causes)


def _check_divisor(resource: str, divisor: str, path: str, causes: Causes) -> None:
    name = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    divisors = _DIVISORS.get(name)
    if divisors is not None and divisor not in divisors[0]:
        detail = (
            f"only divisor's values {divisors[1]} are supported with the {divisors[2]} resource"
        )
        causes.invalid(f"{path}.divisor", resource, detail)
