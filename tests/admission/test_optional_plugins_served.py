"""The plugins that are off by default, on a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.answering import Answering
from support.client import Client
from support.namespaces import Space, random_word
from support.process import ServerProcess, failed_start

from fairlead.base.dialect import DIALECTS, KUBERNETES, Dialect

Object = dict[str, Any]
PLUGINS = (
    "PodNodeSelector",
    "PodTolerationRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeLabel",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
)
APPLY = "application/apply-patch+yaml"


class Plugged:
    """A server with some of these plugins, and the image policy webhook."""

    def __init__(
        self, directory: Path, dialect: Dialect, plugins: tuple[str, ...] = PLUGINS
    ) -> None:
        self.webhook = Answering()
        client = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [
                {
                    "name": "c",
                    "cluster": {"server": f"http://127.0.0.1:{self.webhook.port}/images"},
                }
            ],
            "users": [{"name": "u", "user": {"token": "secret"}}],
        }
        (directory / "images.kubeconfig").write_text(yaml.safe_dump(client))
        path = directory / "admission.yaml"
        path.write_text(yaml.safe_dump(_configuration(dialect)))
        group = dialect.group_name("imagepolicy.@/v1alpha1=true")
        flags = (
            *("--enable-admission-plugins", ",".join(plugins)),
            *("--admission-control-config-file", str(path), "--runtime-config", group),
            "--controllers=*,-garbagecollector",  # the owners of these tests do not exist
        )
        self.server = ServerProcess(directory, dialect.name, flags).start()

    def answer(self, **status: Any) -> None:
        group = self.server.dialect.group_name("imagepolicy.@/v1alpha1")
        review = {"apiVersion": group, "kind": "ImageReview", "status": status}
        self.webhook.answers.append((200, json.dumps(review).encode()))

    def close(self) -> None:
        self.server.stop()
        self.webhook.close()


def _configuration(dialect: Dialect) -> Object:
    settings = {
        "PodNodeSelector": {"podNodeSelectorPluginConfig": {"limited": "env=limited"}},
        "ImagePolicyWebhook": {
            "imagePolicy": {
                "kubeConfigFile": "images.kubeconfig",
                **{"allowTTL": -1, "denyTTL": -1, "retryBackoff": 1},
            }
        },
        "EventRateLimit": {
            "apiVersion": dialect.group_name("eventratelimit.admission.@/v1alpha1"),
            "kind": "Configuration",
            "limits": [{"type": "Namespace", "qps": 1, "burst": 2}],
        },
        "PodTolerationRestriction": {
            "apiVersion": dialect.group_name("podtolerationrestriction.admission.@/v1alpha1"),
            "kind": "Configuration",
            "default": [{"key": "usual", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }
    return {
        "apiVersion": dialect.group_name("apiserver.config.@/v1"),
        "kind": "AdmissionConfiguration",
        "plugins": [
            {"name": name, "configuration": value} for name, value in sorted(settings.items())
        ],
    }


@pytest.fixture(scope="module", params=["kubernetes", "cluster"])
def plugged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Plugged]:
    plugged = Plugged(tmp_path_factory.mktemp("plugged"), DIALECTS[request.param])
    yield plugged
    plugged.close()


@pytest.fixture
def own(plugged: Plugged) -> Iterator[Space]:
    client = plugged.server.client()
    yield Space(plugged.server, client)
    client.close()


def _annotate(space: Space, **annotations: str) -> None:
    domain = space.dialect.label_domain
    named = {f"scheduler.alpha.{domain}/{name}": text for name, text in annotations.items()}
    path = f"/api/v1/namespaces/{space.name}"
    assert space.client.patch(path, {"metadata": {"annotations": named}}).status == 200


def _spec(image: str = "i", **spec: Any) -> Object:
    containers = [{"name": "c", "image": image}]
    return {"automountServiceAccountToken": False, "containers": containers, **spec}


def test_a_pod_meets_all_of_them(plugged: Plugged, own: Space) -> None:
    plugged.answer(allowed=True)
    _annotate(own, **{"node-selector": "env=test"})
    device = {"requests": {"x.io/gpu": "1"}, "limits": {"x.io/gpu": "1"}}
    containers = [{"name": "c", "image": "good", "resources": device}]
    pod = own.collection("pods").create("p", spec=_spec(containers=containers))
    assert pod["spec"]["nodeSelector"] == {"env": "test"}
    keys = [toleration["key"] for toleration in pod["spec"]["tolerations"]]
    domain = own.dialect.label_domain
    assert keys == [
        f"node.{domain}/not-ready",
        f"node.{domain}/unreachable",
        "usual",
        "x.io/gpu",
    ]
    headers, review = plugged.webhook.seen[-1]
    assert headers["authorization"] == "Bearer secret"
    assert review["spec"] == {"containers": [{"image": "good"}], "namespace": own.name}


def test_refusals_are_statuses(plugged: Plugged, own: Space) -> None:
    _annotate(own, **{"node-selector": "env=test", "tolerationsWhitelist": '[{"key": "x"}]'})
    pods = own.collection("pods")

    def refusal(spec: Object) -> tuple[int, str, str]:
        answer = pods.client.post(pods.path, {"metadata": {"name": "p"}, "spec": spec})
        return answer.status, answer.body["reason"], answer.message

    assert refusal(_spec(nodeSelector={"env": "other"})) == (
        403,
        "Forbidden",
        'pods "p" is forbidden: pod node label selector conflicts with its namespace node label'
        " selector",
    )
    assert refusal(_spec(tolerations=[{"key": "y", "operator": "Exists"}])) == (
        403,
        "Forbidden",
        'pods "p" is forbidden: pod tolerations (possibly merged with namespace default'
        " tolerations) conflict with its namespace whitelist",
    )
    _annotate(own, tolerationsWhitelist="")
    plugged.answer(allowed=False, reason="not signed")
    assert refusal(_spec("bad")) == (
        403,
        "Forbidden",
        'pods "p" is forbidden: image policy webhook backend denied one or more images: not signed',
    )


@contextmanager
def _alone(directory: Path, plugin: str) -> Iterator[tuple[Plugged, Space]]:
    """A server with one plugin: another one could disable the cache of applies."""
    created = Plugged(directory, KUBERNETES, (plugin,))
    try:
        yield created, Space(created.server, created.server.client())
    finally:
        created.close()


def _apply_pod(space: Space) -> int:
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": _spec()}
    path = space.collection("pods").item("p")
    return space.client.patch(path, config, kind=APPLY, fieldManager="m").status


def test_an_apply_that_changes_nothing_is_still_reviewed(tmp_path: Path) -> None:
    with _alone(tmp_path, "ImagePolicyWebhook") as (reviewing, space):
        codes = []
        for allowed in (True, True, True, False):
            reviewing.answer(allowed=allowed)
            codes.append(_apply_pod(space))
    assert codes == [201, 200, 200, 403]


def test_an_apply_that_changes_nothing_is_held_against_a_changed_namespace(
    tmp_path: Path,
) -> None:
    with _alone(tmp_path, "PodTolerationRestriction") as (_, space):
        codes = [_apply_pod(space) for _ in range(3)]
        _annotate(space, tolerationsWhitelist='[{"key": "x"}]')
        codes.append(_apply_pod(space))
    assert codes == [201, 200, 200, 403]


def test_an_event_applied_again_counts_again(own: Space) -> None:
    about = {"kind": "Pod", "namespace": own.name, "name": "p"}
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": about,
    }
    path = own.collection("events").item("e")
    codes = [own.client.patch(path, event, kind=APPLY, fieldManager="m").status for _ in range(10)]
    assert codes[:2] == [201, 200]
    assert 429 in codes


def test_events_are_limited_by_namespace(own: Space) -> None:
    events, new_events = own.collection("events"), own.collection("events", "events.@")
    about = {"kind": "Pod", "namespace": own.name, "name": "p"}
    answers = [
        events.client.post(events.path, {"metadata": {"name": f"e{n}"}, "involvedObject": about})
        for n in range(4)
    ]
    assert [answer.status for answer in answers[:2]] == [201, 201]
    refused = answers[-1]
    assert (refused.status, refused.body["reason"]) == (429, "TooManyRequests")
    text = f"Too many requests: limit reached on type Namespace for key {own.name}"
    assert refused.message == text
    event = {
        "metadata": {"name": "n"},
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c",
        "reportingInstance": "i",
        "action": "a",
        "reason": "r",
        "type": "Normal",
        "regarding": about,
    }
    assert new_events.client.post(new_events.path, event).status == 429
    again = {"metadata": {"name": "dry"}, "involvedObject": about}
    assert events.client.post(events.path, again, dryRun="All").status == 201
    other = Space(own.server, own.client)
    about["namespace"] = other.name
    other.collection("events").create("e", involvedObject=about)


def test_volumes_in_a_cloud_get_their_place(own: Space) -> None:
    volumes = own.everywhere("persistentvolumes")
    domain = own.dialect.label_domain

    def spec(identifier: str) -> Object:
        return {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "awsElasticBlockStore": {"volumeID": identifier},
        }

    volume = volumes.create(f"v-{own.name}", spec=spec("aws://us-east-1a/vol-1"))
    assert volume["metadata"]["labels"] == {
        f"topology.{domain}/region": "us-east-1",
        f"topology.{domain}/zone": "us-east-1a",
    }
    assert volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    body = {"metadata": {"name": "w"}, "spec": spec("vol-1")}
    answer = own.client.post(volumes.path, body)
    assert (answer.status, answer.message) == (
        403,
        'persistentvolumes "w" is forbidden: error querying AWS EBS volume vol-1: unable to build'
        " AWS cloud provider for EBS",
    )


class Alice:
    """A user with the rights that a test gives her in a namespace."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self.client: Client = space.server.client("alice-token")

    def may(self, resource: str, *verbs: str, group: str = "") -> None:
        space, name = self._space, f"r-{random_word()}"
        rbac = "rbac.authorization.@"
        rule = {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        space.collection("roles", rbac).create(name, rules=[rule])
        space.collection("rolebindings", rbac).create(
            name,
            roleRef={
                "apiGroup": space.dialect.group_name(rbac),
                "kind": "Role",
                "name": name,
            },
            subjects=[{"kind": "User", "name": "alice"}],
        )


def _owner(name: str = "o", **more: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"uid-{name}", **more}


NO_DELETE = "cannot set an ownerRef on a resource you can't delete: , <nil>"
NO_FINALIZERS = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set"
    " finalizers on: , <nil>"
)


@pytest.fixture
def alice(own: Space) -> Alice:
    alice = Alice(own)
    alice.may("configmaps", "get", "create", "update", "patch")
    return alice


def _owned(alice: Alice, space: Space, name: str, *owners: Object) -> tuple[int, str]:
    """Set these owners on an object; return the code and the message."""
    path = space.config_maps.item(name)
    answer = alice.client.patch(path, {"metadata": {"ownerReferences": list(owners)}})
    if answer.status == 200:
        return 200, ""
    start = f'configmaps "{name}" is forbidden: '
    assert answer.message.startswith(start), answer.text
    return answer.status, answer.message.removeprefix(start)


def test_owners_are_changed_by_those_who_may_delete(own: Space, alice: Alice) -> None:
    own.config_maps.create("m")
    assert _owned(alice, own, "m", _owner()) == (403, NO_DELETE)
    alice.may("configmaps", "delete")
    assert _owned(alice, own, "m", _owner()) == (200, "")
    assert _owned(alice, own, "m") == (200, "")


def test_other_changes_need_no_such_right(own: Space, alice: Alice) -> None:
    own.config_maps.create("m", metadata={"ownerReferences": [_owner()]})
    answer = alice.client.patch(own.config_maps.item("m"), {"data": {"a": "b"}})
    assert answer.status == 200
    assert _owned(alice, own, "m") == (403, NO_DELETE)


def test_new_objects_may_have_owners(own: Space, alice: Alice) -> None:
    body = {"metadata": {"name": "m", "ownerReferences": [_owner()]}}
    assert alice.client.post(own.config_maps.path, body).status == 201


def test_an_owner_is_held_up_by_those_who_may_finalize_it(own: Space, alice: Alice) -> None:
    blocking = _owner(blockOwnerDeletion=True)
    body = {"metadata": {"name": "m", "ownerReferences": [blocking]}}
    answer = alice.client.post(own.config_maps.path, body)
    assert answer.status == 403
    assert answer.message == f'configmaps "m" is forbidden: {NO_FINALIZERS}'
    own.config_maps.create("n")
    alice.may("configmaps", "delete")
    assert _owned(alice, own, "n", blocking) == (403, NO_FINALIZERS)
    alice.may("configmaps/finalizers", "update")
    assert alice.client.post(own.config_maps.path, body).status == 201
    assert _owned(alice, own, "n", blocking) == (200, "")


def test_a_block_may_be_lifted_freely_in_one_dialect(own: Space, alice: Alice) -> None:
    alice.may("configmaps", "delete")
    own.config_maps.create("m", metadata={"ownerReferences": [_owner(blockOwnerDeletion=True)]})
    lifted = _owned(alice, own, "m", _owner(blockOwnerDeletion=False))
    guarded = own.dialect.name == "cluster"
    assert lifted == ((403, NO_FINALIZERS) if guarded else (200, ""))


def test_an_owner_of_an_unknown_kind_cannot_be_held_up(own: Space, alice: Alice) -> None:
    odd = _owner(kind="Odd", blockOwnerDeletion=True)
    body = {"metadata": {"name": "m", "ownerReferences": [{**odd, "apiVersion": "x.io/v1"}]}}
    answer = alice.client.post(own.config_maps.path, body)
    assert answer.status == 403
    assert answer.message == (
        'configmaps "m" is forbidden: cannot set blockOwnerDeletion in this case because cannot'
        " find RESTMapping for APIVersion x.io/v1 Kind Odd: no matches for kind"
        ' "Odd" in version "x.io/v1"'
    )
    assert own.client.post(own.config_maps.path, body).status == 201  # may finalize anything


def test_a_cluster_scoped_owner_is_finalized_cluster_wide(own: Space, alice: Alice) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "blockOwnerDeletion": True}
    alice.may("nodes/finalizers", "update")  # in the namespace: not enough
    body = {"metadata": {"name": "m", "ownerReferences": [node]}}
    assert alice.client.post(own.config_maps.path, body).status == 403
    rbac = "rbac.authorization.@"
    name = f"finalizer-{own.name}"
    rule = {"apiGroups": [""], "resources": ["nodes/finalizers"], "verbs": ["update"]}
    own.everywhere("clusterroles", rbac).create(name, rules=[rule])
    own.everywhere("clusterrolebindings", rbac).create(
        name,
        roleRef={"apiGroup": own.dialect.group_name(rbac), "kind": "ClusterRole", "name": name},
        subjects=[{"kind": "User", "name": "alice"}],
    )
    assert alice.client.post(own.config_maps.path, body).status == 201


@pytest.mark.parametrize("plugin", ["EventRateLimit", "ImagePolicyWebhook"])
def test_a_plugin_without_what_it_needs_stops_the_start(tmp_path: Path, plugin: str) -> None:
    done = failed_start(tmp_path, "--enable-admission-plugins", plugin)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"fairlead: --admission-control-config-file: {plugin} is enabled without"
    )
    assert done.stderr.count("\n") == 1
