"""PodSecurityPolicy on a server: off by default, and permissions come from roles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.client import Answer, Client
from support.namespaces import Space
from support.process import failed_start

Object = dict[str, Any]
ENABLE = ("--enable-admission-plugins", "PodSecurityPolicy")
POLICIES = "/apis/policy/v1beta1/podsecuritypolicies"
ROLES = "/apis/rbac.authorization.cluster.io/v1"
SPEC: Object = {
    "runAsUser": {"rule": "MustRunAs", "ranges": [{"min": 5, "max": 9}]},
    "seLinux": {"rule": "RunAsAny"},
    "fsGroup": {"rule": "RunAsAny"},
    "supplementalGroups": {"rule": "RunAsAny"},
    "volumes": ["secret"],
}


def _create(client: Client, space: Space, name: str, **more: Any) -> Answer:
    pod = {"containers": [{"name": "c", "image": "i"}], **more}
    return client.post(space.collection("pods").path, {"metadata": {"name": name}, "spec": pod})


def test_policies_do_nothing_unless_the_plugin_is_on(cluster: Space) -> None:
    cluster.ready_for_pods()
    answer = _create(cluster.client, cluster, "p", hostNetwork=True)
    assert answer.status == 201
    assert "annotations" not in answer.body["metadata"]


def test_a_policy_serves_those_who_may_use_it(fresh_server: Any) -> None:
    server = fresh_server(*ENABLE, "--authorization-mode", "RBAC", dialect="cluster")
    client: Client = server.client()
    space = Space(server, client)
    space.ready_for_pods()
    output = "PodSecurityPolicy: no providers available to validate pod request"
    assert _create(client, space, "a").message == f'pods "a" is forbidden: {output}'
    _grant_use(client, space)
    answer = _create(client, space, "a", serviceAccountName="robot")
    assert answer.status == 201, answer.text
    assert answer.body["metadata"]["annotations"] == {"cluster.io/psp": "limits"}
    assert answer.body["spec"]["containers"][0]["securityContext"] == {"runAsUser": 5}
    refused = _create(client, space, "b", hostNetwork=True)
    assert refused.status == 403
    assert refused.message == (
        'pods "b" is forbidden: PodSecurityPolicy: unable to admit pod:'
        " [spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to"
        " be used]"
    )
    generated = client.post(
        space.collection("pods").path,
        {
            "metadata": {"generateName": "g-"},
            "spec": {"containers": [{"name": "c", "image": "i"}], "hostPID": True},
        },
    )
    assert generated.message.startswith('pods "g-" is forbidden: PodSecurityPolicy: unable')
    _other_account_is_refused(server, space)


def _grant_use(client: Client, space: Space) -> None:
    """`limits` may be used by the account `robot` of the namespace."""
    answer = client.post(POLICIES, {"metadata": {"name": "limits"}, "spec": SPEC})
    assert answer.status == 201, answer.text
    rule = {
        "apiGroups": ["policy"],
        "resources": ["podsecuritypolicies"],
        "resourceNames": ["limits"],
        "verbs": ["use"],
    }
    role = {"metadata": {"name": "user-of-limits"}, "rules": [rule]}
    assert client.post(f"{ROLES}/clusterroles", role).status == 201
    binding = {
        "metadata": {"name": "robots"},
        "roleRef": {
            "apiGroup": "rbac.authorization.cluster.io",
            "kind": "ClusterRole",
            "name": "user-of-limits",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": space.name}],
    }
    path = f"{ROLES}/namespaces/{space.name}/rolebindings"
    assert client.post(path, binding).status == 201
    space.collection("serviceaccounts").create("robot")


def _other_account_is_refused(server: Any, space: Space) -> None:
    """A user who may create pods but may not use the policy."""
    headers = {"Impersonate-User": "maker"}
    client: Client = server.client()
    role = {
        "metadata": {"name": "maker"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}],
    }
    base = f"{ROLES}/namespaces/{space.name}"
    assert client.post(f"{base}/roles", role).status == 201
    binding = {
        "metadata": {"name": "maker"},
        "roleRef": {
            "apiGroup": "rbac.authorization.cluster.io",
            "kind": "Role",
            "name": "maker",
        },
        "subjects": [
            {"kind": "User", "name": "maker", "apiGroup": "rbac.authorization.cluster.io"}
        ],
    }
    assert client.post(f"{base}/rolebindings", binding).status == 201

    def create(name: str, account: str) -> Answer:
        spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": account}
        body = {"metadata": {"name": name}, "spec": spec}
        return client.post(space.collection("pods").path, body, headers=headers)

    refused = create("d", "default")
    assert refused.status == 403
    assert refused.message.endswith("PodSecurityPolicy: unable to admit pod: []")
    assert create("e", "robot").status == 201


def test_there_are_no_policies_in_the_other_dialect(tmp_path: Path) -> None:
    ended = failed_start(tmp_path, *ENABLE)
    assert ended.returncode != 0
    assert "PodSecurityPolicy needs policy/v1beta1/podsecuritypolicies" in ended.stderr
    assert "Traceback" not in ended.stderr
