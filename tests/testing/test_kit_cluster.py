"""A cluster of the testing kit, with and without pytest: filling it, and users."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fairlead.client.discovery import UnknownResource
from fairlead.client.errors import Forbidden, NotFound
from fairlead.client.sync import SyncClient
from fairlead.testing import Cluster, ServerFailed

Object = dict[str, Any]


def _definition(plural: str, kind: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def _map(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


def test_it_is_there_within_a_context_and_leaves_nothing(tmp_path: Path) -> None:
    async def work() -> Path:
        async with Cluster(dialect="cluster") as cluster, cluster.connect() as client:
            assert await (await client.resource("namespaces")).get(cluster.dialect.system_namespace)
            return cluster.kubeconfig

    left = asyncio.run(work())
    assert not left.parent.parent.exists()


def test_it_keeps_a_directory_that_was_given_and_goes_on_after_a_crash(tmp_path: Path) -> None:
    # Started in a thread that ends before the server does.
    cluster = Cluster(directory=tmp_path / "here")
    starting = threading.Thread(target=cluster.start)
    starting.start()
    starting.join()
    try:
        cluster.apply(_map("a"))
        url = cluster.url
        cluster.kill()
        assert cluster.exit_code == -9
        cluster.restart()
        assert cluster.url == url
        assert cluster.admin.resource("configmaps").get("a")
    finally:
        cluster.stop()
    assert (tmp_path / "here" / "data").is_dir()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(ServerFailed, match="--no-such-flag"):
        Cluster("--no-such-flag").start()


def test_two_starts_of_one_cluster_are_one_too_many(kit: Cluster) -> None:
    with pytest.raises(ServerFailed, match="runs already"):
        kit.start()
    assert kit.admin.resource("namespaces").get("default")


def test_objects_are_applied_from_text_files_folders_and_as_they_are(
    kit: Cluster, space: str, tmp_path: Path
) -> None:
    (tmp_path / "within").mkdir()
    (tmp_path / "one.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n")
    (tmp_path / "within" / "two.json").write_text(
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "two"}}'
    )
    (tmp_path / "within" / "notes.txt").write_text("nothing")
    kit.apply(tmp_path, namespace=space)
    kit.apply(str(tmp_path / "one.yaml"), namespace=space)
    kit.apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: three}\n", namespace=space)
    kit.apply({"kind": "List", "items": [_map("four"), _map("five")]}, namespace=space)
    (value,) = kit.apply([_map("", generateName="six-")], namespace=space)
    items = kit.admin.resource("configmaps").list(space)["items"]
    names = {item["metadata"]["name"] for item in items}
    assert {"one", "two", "three", "four", "five", value["metadata"]["name"]} <= names


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("/no/such/place", 'file "/no/such/place" does not exist'),
        ("a: b\n", "apiVersion not set, kind not set"),
        ("a: [\n", "error parsing the text"),
        ({"kind": "ConfigMap", "metadata": {"name": "x"}}, "an object without apiVersion"),
        ([{"apiVersion": "v1", "kind": "ConfigMap"}], "an object without metadata"),
        (["text"], "not an object: 'text'"),
    ],
)
def test_what_is_no_object_is_refused(kit: Cluster, source: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        kit.apply(source)
    assert "--validate" not in str(refused.value)


def test_namespaces_and_definitions_come_before_what_needs_them(kit: Cluster) -> None:
    metadata = {"name": "a", "namespace": "sites"}
    site = {"apiVersion": "example.org/v1", "kind": "Site", "metadata": metadata}
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sites"}}
    kit.apply([site, place, _definition("sites", "Site")])
    assert kit.admin.resource("sites").get("a", "sites")


def test_definitions_are_served_when_it_returns(kit: Cluster, tmp_path: Path) -> None:
    user = kit.as_user("ann", ["system:masters"])
    with pytest.raises(UnknownResource):
        user.client.resource("buoys")
    items = kit.definitions(
        [_definition("buoys", "Buoy"), _map("left-out"), _definition("xs", "X")]
    )
    assert [item["metadata"]["name"] for item in items] == ["buoys.example.org", "xs.example.org"]
    assert user.client.resource("buoys").list("default")["items"] == []
    with pytest.raises(NotFound):
        kit.admin.resource("configmaps").get("left-out", "default")


def test_definitions_that_never_will_be_served_fail_at_once(kit: Cluster) -> None:
    kit.definitions(_definition("piers", "Pier"))
    with pytest.raises(
        ValueError, match=r'moles\.example\.org cannot be served: "PierList" is already'
    ):
        kit.definitions(_definition("moles", "Pier"))


def test_users_are_who_they_say_and_may_do_what_roles_say(kit: Cluster, space: str) -> None:
    ann = kit.as_user("ann", ["divers"])
    with pytest.raises(Forbidden, match='User "ann"'):
        ann.client.resource("configmaps").list(space)
    kit.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "divers"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "view",
            },
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "divers"}
            ],
        },
        namespace=space,
    )
    assert ann.client.resource("configmaps").list(space)["items"]


@pytest.mark.parametrize("lifetime", ["10m", 600, timedelta(minutes=10)])
def test_a_lifetime_is_written_in_any_way_that_durations_are(
    kit: Cluster, space: str, lifetime: str | float | timedelta
) -> None:
    robot = kit.service_account("robot", space, role="view", lifetime=lifetime)
    ann = kit.as_user("ann", ["system:masters"], lifetime=lifetime)
    for client in (robot.client, ann.client):
        assert client.resource("configmaps").list(space)["kind"] == "ConfigMapList"


@pytest.mark.parametrize("lifetime", ["ten minutes", "", "-5m", 0])
def test_a_lifetime_that_is_none_is_told_at_the_call(kit: Cluster, lifetime: str | float) -> None:
    with pytest.raises(ValueError, match="lifetime="):
        kit.as_user("ann", lifetime=lifetime)
    with pytest.raises(ValueError, match="lifetime="):
        kit.service_account("robot", lifetime=lifetime)


def test_service_accounts_come_with_a_token(kit: Cluster, space: str) -> None:
    account = kit.service_account("robot", space, role="edit")
    assert account.name == f"system:serviceaccount:{space}:robot"
    account.client.resource("configmaps").create({"metadata": {"name": "made"}})
    assert kit.admin.resource("configmaps").get("made", space)
    with pytest.raises(Forbidden):
        account.client.resource("configmaps").list("default")
    again = kit.service_account("robot", space, role="edit")
    assert again.token != account.token
    with SyncClient.load(again.kubeconfig) as client:
        assert client.namespace == space
