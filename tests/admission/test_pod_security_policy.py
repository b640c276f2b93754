"""PodSecurityPolicy: selection of a policy, its defaults and its restrictions."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from support.admission import PODS, USER, World, pod, refused

from fairlead.admission.plugins.pod_security_policy.plugin import POLICIES, PodSecurityPolicy
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import CLUSTER

Object = dict[str, Any]
ANY = {"rule": "RunAsAny"}
MARK = "cluster.io/psp"
EPHEMERAL = f"{PODS}/ephemeralcontainers"
SECCOMP_POD = "seccomp.security.alpha.cluster.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.cluster.io/c"
SECCOMP = "seccomp.security.alpha.cluster.io"
APPARMOR = "apparmor.security.beta.cluster.io"
APPARMOR_CONTAINER = "container.apparmor.security.beta.cluster.io/c"


def _ids(rule: str, *ranges: tuple[int, int]) -> Object:
    return {"rule": rule, "ranges": [{"min": low, "max": high} for low, high in ranges]}


class Policies:
    """A world with policies; `jane` may use all of them by default."""

    def __init__(self) -> None:
        self.world = World(CLUSTER)
        self.plugin = PodSecurityPolicy(CLUSTER, self.world.collection, self.world.needs.allowed)

    def add(self, name: str = "policy", *, usable: bool = True, **spec: Any) -> None:
        annotations = spec.pop("annotations", {})
        if usable:
            self.world.rights.add(("use", name))
        whole = {
            "runAsUser": ANY,
            "seLinux": ANY,
            "fsGroup": ANY,
            "supplementalGroups": ANY,
            "volumes": ["*"],
            **spec,
        }
        metadata = {"name": name, "annotations": annotations}
        self.world.put(POLICIES, {"metadata": metadata, "spec": whole})

    def create(self, value: Object, user: User = USER) -> Object:
        return self.world.create(self.plugin, PODS, value, user)

    def update(self, old: Object, value: Object, key: str = PODS) -> Object:
        return self.world.update(self.plugin, key, old, value)

    def refuses(self, value: Object, *causes: str) -> None:
        message = f"PodSecurityPolicy: unable to admit pod: [{' '.join(causes)}]"
        with refused(f'pods "a" is forbidden: {message}'):
            self.create(value)


@pytest.fixture
def policies() -> Policies:
    return Policies()


def _context(value: Object) -> Object:
    item: Object = value["spec"]["containers"][0].get("securityContext") or {}
    return item


def _with(context: Object | None = None, annotations: Object | None = None, **spec: Any) -> Object:
    """Return a pod with one container that has a security context."""
    stored = pod(**spec)
    stored["metadata"]["annotations"] = annotations or {}
    if context is not None:
        stored["spec"]["containers"][0]["securityContext"] = context
    return stored


def test_without_policies_there_are_no_pods(policies: Policies) -> None:
    with refused(
        'pods "a" is forbidden: PodSecurityPolicy: no providers available to validate pod request'
    ):
        policies.create(pod())


def test_a_pod_bears_the_name_of_its_policy(policies: Policies) -> None:
    policies.add()
    policy = policies.create(pod())
    assert policy["metadata"]["annotations"] == {MARK: "policy"}
    assert policy["spec"] == policies.world.decode(PODS, pod())["spec"]


def test_a_policy_that_changes_nothing_comes_before_all_others(policies: Policies) -> None:
    policies.add("a", fsGroup=_ids("MustRunAs", (7, 9)))
    policies.add("b", fsGroup=_ids("MustRunAs", (8, 9)))
    policy = policies.create(pod())
    assert (policy["metadata"]["annotations"][MARK], policy["spec"]["securityContext"]) == (
        *("a", {"fsGroup": 7}),
    )
    policies.add("c")
    assert policies.create(pod())["metadata"]["annotations"][MARK] == "c"


def test_policies_that_may_not_be_used_do_not_count(policies: Policies) -> None:
    policies.add("a", usable=False)
    policies.add("b", privileged=True)
    assert policies.create(pod())["metadata"]["annotations"][MARK] == "b"
    policies.world.rights.clear()
    policies.refuses(pod())
    policies.refuses(_with({"privileged": True}))


def test_the_account_of_the_pod_may_have_the_right(policies: Policies) -> None:
    policies.add()
    policies.create(pod(serviceAccountName="robot"))
    policies.world.rights.clear()
    policies.world.authorizations.clear()
    policies.refuses(pod(serviceAccountName="robot"))
    requests = {
        (question.user.name, question.group, question.namespace, question.name)
        for question in policies.world.authorizations
    }
    assert requests == {
        (user, group, "ns", "policy")
        for user in ("jane", "system:serviceaccount:ns:robot")
        for group in ("policy", "extensions")
    }


_TOP, _CONTAINER = "spec.securityContext", "spec.containers[0].securityContext"
_INVALID = "Invalid value:"
REFUSED: list[tuple[Object, Object, str]] = [
    ({}, pod(hostNetwork=True), f"{_TOP}.hostNetwork: {_INVALID} true: Host network"),
    ({}, pod(hostPID=True), f"{_TOP}.hostPID: {_INVALID} true: Host PID"),
    ({}, pod(hostIPC=True), f"{_TOP}.hostIPC: {_INVALID} true: Host IPC"),
]
REFUSED = [(spec, value, f"{item} is not allowed to be used") for spec, value, item in REFUSED]
REFUSED += [
    (
        *({}, _with({"privileged": True})),
        f"{_CONTAINER}.privileged: {_INVALID} true: Privileged containers are not allowed",
    ),
    (
        {"allowedCapabilities": ["KILL"], "defaultAddCapabilities": ["CHOWN"]},
        _with({"capabilities": {"add": ["CHOWN", "KILL", "SYS_TIME"]}}),
        f'{_CONTAINER}.capabilities.add: {_INVALID} "SYS_TIME": capability may not be added',
    ),
    (
        *({"volumes": ["secret"]}, pod(volumes=[{"name": "v", "emptyDir": {}}])),
        f'spec.volumes[0]: {_INVALID} "emptyDir": emptyDir volumes are not allowed to be used',
    ),
    (
        *({"volumes": []}, pod(volumes=[{"name": "v", "cephfs": {"monitors": ["m"]}}])),
        f'spec.volumes[0]: {_INVALID} "cephFS": cephFS volumes are not allowed to be used',
    ),
    (
        {"allowedHostPaths": [{"pathPrefix": "/foo/"}]},
        pod(volumes=[{"name": "v", "hostPath": {"path": "/food"}}]),
        f'spec.volumes[0].hostPath.pathPrefix: {_INVALID} "/food": is not allowed to be used',
    ),
    (
        {"allowedFlexVolumes": [{"driver": "x/y"}]},
        pod(volumes=[{"name": "v", "flexVolume": {"driver": "x/z"}}]),
        f'spec.volumes[0].driver: {_INVALID} "x/z": Flexvolume driver is not allowed to be used',
    ),
    (
        {"allowedCSIDrivers": [{"name": "x"}]},
        pod(volumes=[{"name": "v", "csi": {"driver": "z"}}]),
        f'spec.volumes[0].csi.driver: {_INVALID} "z": Inline CSI driver is not allowed to be used',
    ),
    (
        {"hostPorts": [{"min": 80, "max": 90}, {"min": 443, "max": 443}]},
        pod(
            containers=[
                {
                    "name": "c",
                    "ports": [
                        {"containerPort": 1, "hostPort": 85},
                        {"containerPort": 2, "hostPort": 443},
                        {"containerPort": 3, "hostPort": 91},
                    ],
                }
            ]
        ),
        f"spec.containers[0].hostPort: {_INVALID} 91: Host port 91 is not allowed to be used."
        " Allowed ports: [80-90,443]",
    ),
    (
        {"seLinux": {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0:c1,c2", "type": "t"}}},
        _with({"seLinuxOptions": {"level": "s0:c2,c1", "type": "u"}}),
        f'{_CONTAINER}.seLinuxOptions.type: {_INVALID} "u": must be t',
    ),
    (
        *({"runAsUser": _ids("MustRunAs", (1, 5), (9, 9))}, _with({"runAsUser": 7})),
        f"{_CONTAINER}.runAsUser: {_INVALID} 7: must be in the ranges: [{{1 5}} {{9 9}}]",
    ),
    (
        *({"runAsUser": _ids("MustRunAsNonRoot")}, pod(securityContext={"runAsUser": 0})),
        f"{_CONTAINER}.runAsUser: {_INVALID} 0: running with the root UID is forbidden",
    ),
    (
        *({"runAsUser": _ids("MustRunAsNonRoot")}, _with({"runAsNonRoot": False})),
        f"{_CONTAINER}.runAsNonRoot: {_INVALID} false: must be true",
    ),
    (
        *({"runAsGroup": _ids("MayRunAs", (1, 5))}, _with({"runAsGroup": 7})),
        f"{_CONTAINER}.runAsGroup: {_INVALID} []int64{{7}}: group 7 must be in the ranges:"
        " [{1 5}]",
    ),
    (
        {"supplementalGroups": _ids("MustRunAs", (1, 5))},
        pod(securityContext={"supplementalGroups": [3, 7]}),
        f"{_TOP}.supplementalGroups: {_INVALID} []int64{{3, 7}}: group 7 must be in the ranges:"
        " [{1 5}]",
    ),
    (
        *({"fsGroup": _ids("MayRunAs", (1, 5))}, pod(securityContext={"fsGroup": 0})),
        f"{_TOP}.fsGroup: {_INVALID} []int64{{0}}: group 0 must be in the ranges: [{{1 5}}]",
    ),
    (
        {"forbiddenSysctls": ["kernel.*"]},
        pod(securityContext={"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]}),
        'pod.spec.securityContext.sysctls[0]: Forbidden: sysctl "kernel.shm_rmid_forced" is not'
        " allowed",
    ),
    (
        {"allowedUnsafeSysctls": ["net.core.*"]},
        pod(
            securityContext={
                "sysctls": [
                    {"name": "net.core.somaxconn", "value": "1"},
                    {"name": "kernel.msgmax", "value": "1"},
                ]
            }
        ),
        'pod.spec.securityContext.sysctls[1]: Forbidden: unsafe sysctl "kernel.msgmax" is not'
        " allowed",
    ),
    (
        {"allowPrivilegeEscalation": False},
        _with({"allowPrivilegeEscalation": True}),
        f"{_CONTAINER}.allowPrivilegeEscalation: {_INVALID} true: Allowing privilege escalation"
        " for containers is not allowed",
    ),
    (
        *({"readOnlyRootFilesystem": True}, _with({"readOnlyRootFilesystem": False})),
        f"{_CONTAINER}.readOnlyRootFilesystem: {_INVALID} false: ReadOnlyRootFilesystem must be"
        " set to true",
    ),
    (
        *({}, _with({"procMount": "Unmasked"})),
        f'{_CONTAINER}.procMount: {_INVALID} "Unmasked": ProcMountType is not allowed',
    ),
    (
        *({"runtimeClass": {"allowedRuntimeClassNames": ["vm"]}}, pod(runtimeClassName="other")),
        f'spec.runtimeClassName: {_INVALID} "other"',
    ),
    (
        {"annotations": {f"{APPARMOR}/allowedProfileNames": "runtime/default,localhost/x"}},
        _with(annotations={APPARMOR_CONTAINER: "unconfined"}),
        f"pod.metadata.annotations[{APPARMOR_CONTAINER}]: Forbidden: unconfined is not an allowed"
        ' profile. Allowed values: "runtime/default,localhost/x"',
    ),
    (
        {"annotations": {f"{APPARMOR}/allowedProfileNames": "runtime/default"}},
        pod(),
        f"pod.metadata.annotations[{APPARMOR_CONTAINER}]: Forbidden: AppArmor profile must be set",
    ),
    (
        *({}, _with({"seccompProfile": {"type": "Unconfined"}})),
        f"pod.metadata.annotations[{SECCOMP_CONTAINER}]: Forbidden: seccomp may not be set",
    ),
    (
        {"annotations": {f"{SECCOMP}/allowedProfileNames": "docker/default"}},
        _with(
            {"seccompProfile": {"type": "Localhost", "localhostProfile": "x"}},
            {SECCOMP_POD: "runtime/default"},
        ),
        f"pod.metadata.annotations[{SECCOMP_CONTAINER}]: Forbidden: localhost/x is not an allowed"
        " seccomp profile. Valid values are docker/default",
    ),
]


@pytest.mark.parametrize(("spec", "value", "message"), REFUSED)
def test_what_a_policy_forbids(
    policies: Policies, spec: Object, value: Object, message: str
) -> None:
    policies.add("strict", **deepcopy(spec))
    policies.refuses(value, message)
    policies.add("open", **OPEN)
    assert policies.create(value)["metadata"]["annotations"][MARK] == "open"


OPEN: Object = {
    "privileged": True,
    "hostNetwork": True,
    "hostPID": True,
    "hostIPC": True,
    "hostPorts": [{"min": 0, "max": 65535}],
    "allowedCapabilities": ["*"],
    "allowedUnsafeSysctls": ["*"],
    "allowedProcMountTypes": ["Default", "Unmasked"],
    "runtimeClass": {"allowedRuntimeClassNames": ["*"]},
    "annotations": {f"{SECCOMP}/allowedProfileNames": "*"},
}

FILLED: list[tuple[Object, Object, Object]] = [
    # what the policy says, what the pod's one container gets, what the pod gets
    ({"runAsUser": _ids("MustRunAs", (5, 9))}, {"runAsUser": 5}, {}),
    ({"runAsUser": _ids("MustRunAsNonRoot")}, {"runAsNonRoot": True}, {}),
    ({"runAsGroup": _ids("MustRunAs", (5, 9))}, {"runAsGroup": 5}, {}),
    ({"runAsGroup": _ids("MayRunAs", (5, 9))}, {}, {}),
    ({"fsGroup": _ids("MustRunAs", (5, 9))}, {}, {"fsGroup": 5}),
    ({"fsGroup": _ids("MayRunAs", (5, 9))}, {}, {}),
    ({"supplementalGroups": _ids("MustRunAs", (5, 9))}, {}, {"supplementalGroups": [5]}),
    (
        {"seLinux": {"rule": "MustRunAs", "seLinuxOptions": {"level": "s0"}}},
        {},
        {"seLinuxOptions": {"level": "s0"}},
    ),
    (
        {"defaultAddCapabilities": ["B", "A"], "requiredDropCapabilities": ["C"]},
        {"capabilities": {"add": ["A", "B"], "drop": ["C"]}},
        {},
    ),
    ({"readOnlyRootFilesystem": True}, {"readOnlyRootFilesystem": True}, {}),
    ({"allowPrivilegeEscalation": False}, {"allowPrivilegeEscalation": False}, {}),
    ({"defaultAllowPrivilegeEscalation": False}, {"allowPrivilegeEscalation": False}, {}),
]


@pytest.mark.parametrize(("spec", "container", "whole"), FILLED)
def test_what_a_policy_gives(
    policies: Policies, spec: Object, container: Object, whole: Object
) -> None:
    policies.add(**deepcopy(spec))
    policy = policies.create(pod())
    assert (_context(policy), policy["spec"].get("securityContext") or {}) == (container, whole)


def test_no_groups_at_all_are_not_a_way_around_a_range(policies: Policies) -> None:
    policies.add(supplementalGroups=_ids("MustRunAs", (5, 9)))
    policy = policies.create(pod(securityContext={"supplementalGroups": []}))
    assert policy["spec"]["securityContext"]["supplementalGroups"] == [5]


def test_what_a_pod_says_stays(policies: Policies) -> None:
    policies.add(
        runAsUser=_ids("MustRunAs", (5, 9)),
        fsGroup=_ids("MustRunAs", (5, 9)),
        defaultAddCapabilities=["A"],
    )
    policy = policies.create(
        _with({"capabilities": {"drop": ["A"]}}, securityContext={"runAsUser": 6, "fsGroup": 7})
    )
    assert _context(policy) == {"capabilities": {"drop": ["A"]}}
    assert policy["spec"]["securityContext"] == {"runAsUser": 6, "fsGroup": 7}


def test_profiles_and_the_runtime_class_have_defaults(policies: Policies) -> None:
    annotations = {
        f"{SECCOMP}/defaultProfileName": "docker/default",
        f"{SECCOMP}/allowedProfileNames": "runtime/default",
        f"{APPARMOR}/defaultProfileName": "runtime/default",
        f"{APPARMOR}/allowedProfileNames": "runtime/default",
    }
    runtime = {"allowedRuntimeClassNames": ["vm"], "defaultRuntimeClassName": "vm"}
    policies.add(annotations=annotations, runtimeClass=runtime)
    policy = policies.create(pod())
    assert policy["spec"]["runtimeClassName"] == "vm"
    assert policy["metadata"]["annotations"] == {
        SECCOMP_POD: "docker/default",
        APPARMOR_CONTAINER: "runtime/default",
        MARK: "policy",
    }


@pytest.mark.parametrize("path", ["/foo", "/foo/", "/foo/bar"])
def test_host_paths_below_a_prefix(policies: Policies, path: str) -> None:
    policies.add(allowedHostPaths=[{"pathPrefix": "/foo", "readOnly": True}])
    container = {"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/m"}]}
    value = pod(volumes=[{"name": "v", "hostPath": {"path": path}}], containers=[container])
    message = "spec.containers[0].volumeMounts[0].readOnly: Invalid value: false: must be read-only"
    policies.refuses(value, message)
    policies.add(allowedHostPaths=[{"pathPrefix": "/foo", "readOnly": True}, {"pathPrefix": "/"}])
    policies.create(value)


def test_tokens_of_accounts_are_allowed_where_secrets_are(policies: Policies) -> None:
    policies.add(volumes=["secret"])
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources: list[Object] = [
        {"serviceAccountToken": {"path": "token"}},
        {
            "configMap": {
                "name": "cluster-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    policies.create(pod(volumes=[{"name": "v", "projected": {"sources": sources}}]))
    for wrong in (
        {"serviceAccountToken": {"path": "token", "audience": "x"}},
        {"configMap": {"name": "other"}},
        {"secret": {"name": "s"}},
        {"downwardAPI": {"items": [{"path": "labels", "fieldRef": field}]}},
    ):
        volume = {"name": "v", "projected": {"sources": [*sources, wrong]}}
        message = 'Invalid value: "projected": projected volumes are not allowed to be used'
        policies.refuses(pod(volumes=[volume]), f"spec.volumes[0]: {message}")


def test_updates_are_judged_and_never_changed(policies: Policies) -> None:
    policies.add("fills", fsGroup=_ids("MustRunAs", (5, 9)))
    old, new = pod(), pod()
    new["metadata"] = {"labels": {"a": "b"}}
    with refused('pods "a" is forbidden: PodSecurityPolicy: unable to validate pod: []'):
        policies.update(old, new)
    policies.add("open")
    assert policies.update(old, new) == policies.world.decode(PODS, new)


def test_the_garbage_collector_is_not_in_the_way_of_policies(policies: Policies) -> None:
    old = pod()
    old["metadata"] = {"finalizers": ["x.io/y"]}
    policies.update(old, pod())


def test_ephemeral_containers_are_judged(policies: Policies) -> None:
    policies.add()
    new = pod(ephemeralContainers=[{"name": "e", "securityContext": {"privileged": True}}])
    path = "spec.ephemeralContainers[0].securityContext.privileged"
    message = f"[{path}: Invalid value: true: Privileged containers are not allowed]"
    with refused(f'pods "a" is forbidden: PodSecurityPolicy: unable to validate pod: {message}'):
        policies.update(pod(), new, EPHEMERAL)
