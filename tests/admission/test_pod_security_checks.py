"""The pod security standards: what each check allows and refuses, by level and version."""

from __future__ import annotations

from typing import Any

import pytest
from support.admission import both_dialects

from fairlead.admission.plugins.pod_security.levels import (
    BASELINE,
    LEVELS,
    RESTRICTED,
    Standard,
    minor_of,
)
from fairlead.admission.plugins.pod_security.pods import pod_of
from fairlead.admission.plugins.pod_security.standards import LAST_CHANGE, listed, violations
from fairlead.base.dialect import KUBERNETES, Dialect
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.resources.core.pods.annotations import keys

Object = dict[str, Any]
NEWEST = minor_of("latest") or 0
# What no level finds fault with, in no version.
GOOD_CONTEXT: Object = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def _pod(
    context: Object | None = None,
    pod_context: Object | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Return a pod with one container that meets all standards, except for the given fields."""
    container = {"name": "c", "image": "i", "securityContext": {**GOOD_CONTEXT, **(context or {})}}
    value: Object = {"containers": [container], **spec}
    if pod_context is not None:
        value["securityContext"] = pod_context
    return {"metadata": {"annotations": annotations or {}}, "spec": value}


def _refusal(
    level: str,
    minor: int,
    pod: Object,
    dialect: Dialect = KUBERNETES,
    release: Release = V1_25,
) -> str:
    return listed(violations(Standard(level, minor), pod_of(pod, keys(dialect), release)))


def _volume(kind: str, name: str = "v") -> Object:
    return {"volumes": [{"name": name, kind: {}}]}


def _sysctl(name: str) -> Object:
    return _pod(pod_context={"sysctls": [{"name": name}]})


def _probe(probe: Object) -> Object:
    container = {"name": "c", "livenessProbe": probe, "securityContext": GOOD_CONTEXT}
    return _pod(containers=[container])


def _port(*ports: int) -> Object:
    listed_ports = [{"containerPort": 1, "hostPort": port} for port in ports]
    container = {"name": "c", "ports": listed_ports, "securityContext": GOOD_CONTEXT}
    return _pod(containers=[container])


_ADDS = "in securityContext.capabilities.add"
_SECCOMP = "securityContext.seccompProfile.type"
_SELINUX = "set forbidden securityContext.seLinuxOptions:"
_ESCALATION = "securityContext.allowPrivilegeEscalation=false"

# Pods that a level refuses: the level, the versions from and until which it does, the pod, and
# what is said. Other versions of the level allow it.
REFUSED: list[tuple[str, int, int, Object, str]] = [
    (BASELINE, 0, NEWEST, _pod(hostNetwork=True), "host namespaces (hostNetwork=true)"),
    (
        *(BASELINE, 0, NEWEST, _pod(hostIPC=True, hostPID=True, hostNetwork=True)),
        "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)",
    ),
    (BASELINE, 0, NEWEST, _pod(**_volume("hostPath")), 'hostPath volumes (volume "v")'),
    (BASELINE, 0, NEWEST, _port(80), 'hostPort (container "c" uses hostPort 80)'),
    (BASELINE, 0, NEWEST, _port(0, 9, 80), 'hostPort (container "c" uses hostPorts 80, 9)'),
    (
        *(BASELINE, 0, NEWEST, _pod({"privileged": True})),
        'privileged (container "c" must not set securityContext.privileged=true)',
    ),
    (
        *(BASELINE, 0, NEWEST, _pod({"procMount": "Unmasked"})),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        *(BASELINE, 0, NEWEST, _pod({"seLinuxOptions": {"type": "spc_t"}})),
        f'seLinuxOptions (container "c" {_SELINUX} type "spc_t")',
    ),
    (
        *(BASELINE, 0, NEWEST, _pod(pod_context={"seLinuxOptions": {"user": "u", "role": "r"}})),
        f"seLinuxOptions (pod {_SELINUX} user may not be set; role may not be set)",
    ),
    (
        BASELINE,
        0,
        NEWEST,
        _pod({"seLinuxOptions": {"type": "a", "role": "r"}}, {"seLinuxOptions": {"type": "b"}}),
        f'seLinuxOptions (pod and container "c" {_SELINUX} types "a", "b"; role may not be set)',
    ),
    (
        BASELINE,
        0,
        NEWEST,
        _pod(pod_context={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.core.somaxconn"}]}),
        "forbidden sysctls (kernel.msgmax, net.core.somaxconn)",
    ),
    (
        BASELINE,
        0,
        NEWEST,
        _pod({"windowsOptions": {"hostProcess": True}}, {"windowsOptions": {"hostProcess": True}}),
        'hostProcess (pod and container "c" must not set'
        " securityContext.windowsOptions.hostProcess=true)",
    ),
    (
        *(BASELINE, 19, NEWEST, _pod(pod_context={"seccompProfile": {"type": "Unconfined"}})),
        f'seccompProfile (pod must not set {_SECCOMP} to "Unconfined")',
    ),
    (
        *(RESTRICTED, 0, NEWEST, _pod(**_volume("hostPath"))),
        'restricted volume types (volume "v" uses restricted volume type "hostPath")',
    ),
    (
        *(RESTRICTED, 0, NEWEST),
        _pod(volumes=[{"name": "a", "nfs": {}}, {"name": "b", "iscsi": {}}]),
        'restricted volume types (volumes "a", "b" use restricted volume types "iscsi", "nfs")',
    ),
    (
        *(RESTRICTED, 8, NEWEST, _pod({"allowPrivilegeEscalation": None})),
        f'allowPrivilegeEscalation != false (container "c" must set {_ESCALATION})',
    ),
    (
        *(RESTRICTED, 8, 24, _pod({"allowPrivilegeEscalation": True}, os={"name": "windows"})),
        f'allowPrivilegeEscalation != false (container "c" must set {_ESCALATION})',
    ),
    (
        *(RESTRICTED, 22, NEWEST, _pod({"capabilities": {"drop": ["KILL"]}})),
        'unrestricted capabilities (container "c" must set'
        ' securityContext.capabilities.drop=["ALL"])',
    ),
    (
        *(RESTRICTED, 22, 24, _pod({"capabilities": None}, os={"name": "windows"})),
        'unrestricted capabilities (container "c" must set'
        ' securityContext.capabilities.drop=["ALL"])',
    ),
    (
        *(RESTRICTED, 22, NEWEST),
        _pod({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE", "KILL", "CHOWN"]}}),
        f'unrestricted capabilities (container "c" must not include "CHOWN", "KILL" {_ADDS})',
    ),
    (
        *(RESTRICTED, 0, NEWEST, _pod({"runAsNonRoot": None})),
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ),
    (
        *(RESTRICTED, 0, NEWEST, _pod({"runAsNonRoot": False}, {"runAsNonRoot": True})),
        'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
    ),
    (
        *(RESTRICTED, 0, NEWEST, _pod(pod_context={"runAsNonRoot": False})),
        "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)",
    ),
    (
        *(RESTRICTED, 23, NEWEST, _pod({"runAsUser": 0})),
        'runAsUser=0 (container "c" must not set runAsUser=0)',
    ),
    (
        *(RESTRICTED, 23, NEWEST, _pod({"runAsUser": 0}, {"runAsUser": 0})),
        'runAsUser=0 (pod and container "c" must not set runAsUser=0)',
    ),
    (
        *(RESTRICTED, 19, NEWEST, _pod({"seccompProfile": None})),
        f'seccompProfile (pod or container "c" must set {_SECCOMP} to "RuntimeDefault" or'
        ' "Localhost")',
    ),
    (
        *(RESTRICTED, 19, 24, _pod({"seccompProfile": None}, os={"name": "windows"})),
        f'seccompProfile (pod or container "c" must set {_SECCOMP} to "RuntimeDefault" or'
        ' "Localhost")',
    ),
    (
        *(RESTRICTED, 19, NEWEST, _pod({"seccompProfile": {"type": "Unconfined"}})),
        f'seccompProfile (container "c" must not set {_SECCOMP} to "Unconfined")',
    ),
]
LATER = [
    # Later versions allow more, and forbid hosts in probes and hooks.
    (
        *(BASELINE, 0, 28, _sysctl("net.ipv4.tcp_keepalive_time")),
        "forbidden sysctls (net.ipv4.tcp_keepalive_time)",
    ),
    (*(BASELINE, 0, 31, _sysctl("net.ipv4.tcp_wmem")), "forbidden sysctls (net.ipv4.tcp_wmem)"),
    (
        *(BASELINE, 0, 30, _pod(pod_context={"seLinuxOptions": {"type": "container_engine_t"}})),
        "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type"
        ' "container_engine_t")',
    ),
    (
        *(BASELINE, 34, NEWEST, _probe({"httpGet": {"port": 80, "host": "h"}})),
        'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
    ),
    (
        *(BASELINE, 0, 34, _pod({"procMount": "Unmasked"}, hostUsers=False)),
        'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
    ),
    (
        *(RESTRICTED, 0, 34, _pod({"runAsNonRoot": None}, hostUsers=False)),
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
    ),
    (
        *(RESTRICTED, 23, 34, _pod({"runAsUser": 0}, hostUsers=False)),
        'runAsUser=0 (container "c" must not set runAsUser=0)',
    ),
]
VERSIONS = (*range(LAST_CHANGE + 3), NEWEST)


@pytest.mark.parametrize(("level", "first", "last", "pod", "message"), REFUSED)
def test_a_pod_is_refused_in_these_versions_only(
    level: str, first: int, last: int, pod: Object, message: str
) -> None:
    result = {minor: _refusal(level, minor, pod) for minor in VERSIONS}
    assert result == {minor: message if first <= minor <= last else "" for minor in VERSIONS}


@pytest.mark.parametrize(("level", "first", "last", "pod", "message"), LATER)
def test_versions_that_release_1_36_knows(
    level: str, first: int, last: int, pod: Object, message: str
) -> None:
    result = {minor: _refusal(level, minor, pod, release=V1_36) for minor in VERSIONS}
    assert result == {minor: message if first <= minor <= last else "" for minor in VERSIONS}


@pytest.mark.parametrize(("level", "first", "last", "pod", "message"), REFUSED)
def test_what_baseline_refuses_restricted_refuses_too(
    level: str, first: int, last: int, pod: Object, message: str
) -> None:
    for minor in VERSIONS:
        assert bool(_refusal(RESTRICTED, minor, pod)) >= bool(_refusal(BASELINE, minor, pod))
        assert not _refusal("privileged", minor, pod)


@pytest.mark.parametrize(
    "pod",
    [
        _pod(),
        _pod({"privileged": False, "procMount": "Default", "runAsUser": 1}),
        _pod({"seLinuxOptions": {"type": "container_kvm_t", "level": "s0"}}),
        _pod({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
        _pod({"seccompProfile": None}, {"seccompProfile": {"type": "Localhost"}}),
        _pod({"runAsNonRoot": None}, {"runAsNonRoot": True}),
        _pod(pod_context={"sysctls": [{"name": "net.ipv4.tcp_syncookies"}]}),
        _pod(**_volume("emptyDir")),
        _pod(**_volume("csi")),
        _pod(hostNetwork=False),
        _port(0),
    ],
)
def test_good_pods_are_allowed_at_all_levels(pod: Object) -> None:
    assert {_refusal(level, minor, pod) for level in LEVELS for minor in VERSIONS} == {""}


def test_added_capabilities_were_always_limited() -> None:
    pod = _pod({"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN", "KILL", "NET_RAW"]}})
    message = f'(container "c" must not include "NET_RAW", "SYS_ADMIN" {_ADDS})'
    for level, minor in ((BASELINE, 0), (BASELINE, NEWEST), (RESTRICTED, 21)):
        assert _refusal(level, minor, pod) == f"non-default capabilities {message}"
    message = f'(container "c" must not include "KILL", "NET_RAW", "SYS_ADMIN" {_ADDS})'
    assert _refusal(RESTRICTED, 22, pod) == f"unrestricted capabilities {message}"


@both_dialects
def test_annotations_named_seccomp_profiles_before_1_19(dialect: Dialect) -> None:
    known = keys(dialect)
    wrong = {known.seccomp_pod: "unconfined", known.seccomp_container + "c": "x"}
    pod = _pod(annotations={**wrong, known.seccomp_container + "nobody": "unconfined"})
    message = (
        f'seccompProfile (forbidden annotations {known.seccomp_container}c="x",'
        f' {known.seccomp_pod}="unconfined")'
    )
    for level in (BASELINE, RESTRICTED):
        assert _refusal(level, 18, pod, dialect) == message
        assert not _refusal(level, 19, pod, dialect)
    for profile in ("runtime/default", "docker/default", "localhost/x"):
        assert not _refusal(RESTRICTED, 0, _pod(annotations={known.seccomp_pod: profile}), dialect)


@both_dialects
def test_app_armor_profiles_are_the_default_or_local(dialect: Dialect) -> None:
    prefix = keys(dialect).app_armor
    pod = _pod(annotations={f"{prefix}b": "unconfined", f"{prefix}a": "x"})
    message = f'forbidden AppArmor profiles ({prefix}a="x", {prefix}b="unconfined")'
    assert {_refusal(BASELINE, minor, pod, dialect) for minor in VERSIONS} == {message}
    for profile in ("", "runtime/default", "localhost/x"):
        pod = _pod(annotations={f"{prefix}c": profile})
        assert not _refusal(RESTRICTED, NEWEST, pod, dialect)


def test_every_container_counts_in_its_order() -> None:
    def named(name: str) -> Object:
        return {"name": name, "securityContext": {**GOOD_CONTEXT, "privileged": True}}

    pod = _pod(
        containers=[named("b")], initContainers=[named("c")], ephemeralContainers=[named("a")]
    )
    assert _refusal(BASELINE, NEWEST, pod).startswith('privileged (containers "c", "b", "a" must')


def test_faults_are_listed_level_by_level() -> None:
    pod = {"spec": {"hostPID": True, "containers": [{"name": "c"}], **_volume("hostPath")}}
    reasons = [
        violation.reason
        for violation in violations(Standard(RESTRICTED), pod_of(pod, keys(KUBERNETES)))
    ]
    assert reasons == [
        "host namespaces",
        "allowPrivilegeEscalation != false",
        "unrestricted capabilities",
        "restricted volume types",
        "runAsNonRoot != true",
        "seccompProfile",
    ]


@pytest.mark.parametrize(
    "version",
    ["", "v1", "1.25", "v1.025", "v1.-1", "v1.1 ", "v2.0", f"v1.{2**63}", "v1.x", "Latest"],
)
def test_wrong_versions(version: str) -> None:
    assert minor_of(version) is None
