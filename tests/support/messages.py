"""A second, independent decoder of protobuf messages, from the field numbers that the reference
publishes."""

from __future__ import annotations

from typing import Any

# Message, then number, name and type of its fields; `*` for repeated, `{}` for a map. Limited to
# the fields that the tests use.
TABLE = """
Unknown          1 typeMeta TypeMeta, 2 raw bytes, 3 contentEncoding text, 4 contentType text
TypeMeta         1 apiVersion text, 2 kind text
Time             1 seconds int, 2 nanos int
Quantity         1 string text
IntOrString      1 type int, 2 intVal int, 3 strVal text
FieldsV1         1 raw bytes
ObjectMeta       1 name text, 2 generateName text, 3 namespace text, 5 uid text,
                 6 resourceVersion text, 7 generation int, 8 creationTimestamp Time,
                 11 labels {}text, 12 annotations {}text, 13 ownerReferences *OwnerReference,
                 14 finalizers *text, 17 managedFields *ManagedFieldsEntry
OwnerReference   1 kind text, 3 name text, 4 uid text, 5 apiVersion text, 6 controller int
ManagedFieldsEntry 1 manager text, 2 operation text, 3 apiVersion text, 4 time Time,
                 6 fieldsType text, 7 fieldsV1 FieldsV1
ConfigMap        1 metadata ObjectMeta, 2 data {}text, 3 binaryData {}bytes, 4 immutable int
Secret           1 metadata ObjectMeta, 2 data {}bytes, 3 type text
Pod              1 metadata ObjectMeta, 2 spec PodSpec, 3 status PodStatus
PodSpec          1 volumes *Volume, 2 containers *Container, 3 restartPolicy text,
                 4 terminationGracePeriodSeconds int, 10 nodeName text, 11 hostNetwork int
Volume           1 name text, 2 volumeSource VolumeSource
VolumeSource     2 emptyDir EmptyDir, 6 secret SecretVolume
EmptyDir         1 medium text, 2 sizeLimit Quantity
SecretVolume     1 secretName text, 3 defaultMode int
Container        1 name text, 2 image text, 6 ports *ContainerPort, 7 env *EnvVar,
                 8 resources Resources, 10 livenessProbe Probe
ContainerPort    1 name text, 2 hostPort int, 3 containerPort int, 4 protocol text
EnvVar           1 name text, 2 value text, 3 valueFrom EnvVarSource
EnvVarSource     4 secretKeyRef SecretKeySelector
SecretKeySelector 1 localObjectReference LocalObjectReference, 2 key text, 3 optional int
LocalObjectReference 1 name text
Resources        1 limits {}Quantity, 2 requests {}Quantity
Probe            1 handler Handler, 4 periodSeconds int
Handler          2 httpGet HTTPGet
HTTPGet          1 path text, 2 port IntOrString
PodStatus        1 phase text, 7 startTime Time
Deployment       1 metadata ObjectMeta, 2 spec DeploymentSpec, 3 status DeploymentStatus
DeploymentSpec   1 replicas int, 2 selector LabelSelector, 3 template PodTemplateSpec,
                 4 strategy DeploymentStrategy
LabelSelector    1 matchLabels {}text, 2 matchExpressions *Requirement
Requirement      1 key text, 2 operator text, 3 values *text
PodTemplateSpec  1 metadata ObjectMeta, 2 spec PodSpec
DeploymentStrategy 1 type text, 2 rollingUpdate RollingUpdate
RollingUpdate    1 maxUnavailable IntOrString, 2 maxSurge IntOrString
DeploymentStatus 2 replicas int
Lease            1 metadata ObjectMeta, 2 spec LeaseSpec
LeaseSpec        1 holderIdentity text, 2 leaseDurationSeconds int, 3 acquireTime Time,
                 4 renewTime Time, 5 leaseTransitions int
ClusterRole      1 metadata ObjectMeta, 2 rules *PolicyRule
PolicyRule       1 verbs *text, 2 apiGroups *text, 3 resources *text, 4 resourceNames *text,
                 5 nonResourceURLs *text
CertificateSigningRequest 1 metadata ObjectMeta, 2 spec CertificateSigningRequestSpec
CertificateSigningRequestSpec 1 request bytes, 2 username text, 5 usages *text,
                 6 extra {}ExtraValue, 7 signerName text
ExtraValue       1 items *text
ControllerRevision 1 metadata ObjectMeta, 2 data RawExtension, 3 revision int
RawExtension     1 raw bytes
"""


def _table() -> dict[str, dict[int, tuple[str, str]]]:
    result: dict[str, dict[int, tuple[str, str]]] = {}
    name = ""
    for line in TABLE.strip().splitlines():
        if not line.startswith(" "):
            name, _, line = line.partition(" ")
        for row in filter(None, (part.strip() for part in line.split(","))):
            number, field, kind = row.split()
            result.setdefault(name, {})[int(number)] = field, kind
    return result


MESSAGES = _table()


def message(name: str, raw: bytes) -> dict[str, Any]:
    """Decode a message; a field that the table lacks is an error unless it is empty."""
    out: dict[str, Any] = {}
    at = 0
    while at < len(raw):
        head, at = _number(raw, at)
        value: int | bytes
        if head & 7 == 0:
            value, at = _number(raw, at)
        else:
            assert head & 7 == 2, (name, head)
            size, at = _number(raw, at)
            value, at = raw[at : at + size], at + size
        if head >> 3 not in MESSAGES[name] and _is_zero(value):
            continue
        field, kind = MESSAGES[name][head >> 3]
        if kind.startswith("*"):
            out.setdefault(field, []).append(_value(kind[1:], value))
        elif kind.startswith("{}"):
            key, item = _entry(kind[2:], value)
            out.setdefault(field, {})[key] = item
        else:
            out[field] = _value(kind, value)
    return out


def _is_zero(value: int | bytes) -> bool:
    """Return whether a field is empty: zero, or a message of such fields."""
    if isinstance(value, int):
        return value == 0
    at = 0
    while at < len(value):
        head, at = _number(value, at)
        size, at = _number(value, at)
        if head & 7 not in (0, 2) or not _is_zero(value[at : at + size] if head & 7 else size):
            return False
        at += size if head & 7 else 0
    return True


def without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message without empty ones."""
    result = {
        name: without_empty(item) if isinstance(item, dict) else _each_said(item)
        for name, item in fields.items()
    }
    return {name: item for name, item in result.items() if item not in (0, "", {}, b"", [])}


def _each_said(item: Any) -> Any:
    if not isinstance(item, list):
        return item
    return [without_empty(element) if isinstance(element, dict) else element for element in item]


def stored(raw: bytes) -> tuple[str, str, dict[str, Any]]:
    """Return the apiVersion, kind and fields of a value in the reference's store."""
    assert raw[:4] == b"k8s\0"
    unknown = message("Unknown", raw[4:])
    assert not unknown["contentEncoding"]
    assert not unknown["contentType"]
    meta = unknown["typeMeta"]
    return meta["apiVersion"], meta["kind"], message(meta["kind"], unknown["raw"])


def _entry(kind: str, raw: int | bytes) -> tuple[str, Any]:
    MESSAGES["Entry"] = {1: ("key", "text"), 2: ("value", kind)}
    assert isinstance(raw, bytes)
    entry = message("Entry", raw)
    return entry["key"], entry["value"]


def _value(kind: str, value: int | bytes) -> Any:
    if kind == "int":
        assert isinstance(value, int)
        return value
    assert isinstance(value, bytes)
    if kind == "bytes":
        return value
    return value.decode() if kind == "text" else message(kind, value)


def _number(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while raw[at] & 0x80:
        value, shift, at = value | (raw[at] & 0x7F) << shift, shift + 7, at + 1
    return value | raw[at] << shift, at + 1
