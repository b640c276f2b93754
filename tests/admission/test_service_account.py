"""ServiceAccount: the account of a pod, and what the account adds to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.admission import NAMESPACE, PODS, USER, World, both_dialects, pod, refused

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins import service_account
from fairlead.admission.plugins.service_account import ServiceAccount
from fairlead.base.dialect import KUBERNETES, Dialect

ACCOUNTS = "core/v1/serviceaccounts"
PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ENFORCE = {"kubernetes.io/enforce-mountable-secrets": "true"}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
EPHEMERAL = "core/v1/pods/ephemeralcontainers"


def _world(dialect: Dialect = KUBERNETES, **account: Any) -> tuple[World, ServiceAccount]:
    world = World(dialect)
    world.put(ACCOUNTS, {"metadata": {"name": "default"}})
    world.put(ACCOUNTS, {"metadata": {"name": "sa"}, **account})
    return world, ServiceAccount(dialect, world.find)


def _secret_env(name: str) -> list[dict[str, Any]]:
    return [{"name": "E", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}]


@pytest.mark.parametrize(
    ("spec", "account"),
    [
        ({}, "default"),
        ({"serviceAccountName": "sa"}, "sa"),
        ({"serviceAccount": "sa"}, "sa"),
        ({"serviceAccount": "default", "serviceAccountName": "sa"}, "sa"),
    ],
)
def test_account_is_chosen_and_mirrored(spec: dict[str, Any], account: str) -> None:
    world, plugin = _world()
    created = world.create(plugin, PODS, pod(**spec))["spec"]
    assert (created["serviceAccountName"], created["serviceAccount"]) == (account, account)


def test_missing_account_is_refused() -> None:
    world, plugin = _world()
    with refused(
        'pods "a" is forbidden: error looking up service account ns/x: serviceaccount "x" not found'
    ):
        world.create(plugin, PODS, pod(serviceAccountName="x"))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a/b", "invalid resource name \"a/b\": [may not contain '/']"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
        ("a\tb", r'serviceaccount "a\tb" not found'),
    ],
)
def test_an_account_that_cannot_be_is_refused(name: str, why: str) -> None:
    world, plugin = _world()
    with refused(f'pods "a" is forbidden: error looking up service account ns/{name}: {why}'):
        world.create(plugin, PODS, pod(serviceAccountName=name))


def test_refusal_of_a_generated_name_shows_the_stem() -> None:
    world, plugin = _world()
    value = pod(serviceAccountName="x")
    value["metadata"] = {"generateName": "rs-"}
    with refused(
        'pods "rs-" is forbidden: error looking up service account ns/x:'
        ' serviceaccount "x" not found'
    ):
        world.create(plugin, PODS, value)


def test_default_account_that_is_still_being_made_is_awaited() -> None:
    world = World()
    plugin = ServiceAccount(KUBERNETES, world.find)
    value = world.decode(PODS, pod())
    attributes = Attributes(
        CREATE,
        world.resources.named(PODS),
        NAMESPACE,
        "a",
        value,
        None,
        USER,
        world.context(),
    )

    async def run() -> None:
        step = plugin.admit(attributes)
        assert step is not None
        waiting = asyncio.ensure_future(step)
        await asyncio.sleep(0.05)
        world.put(ACCOUNTS, {"metadata": {"name": "default"}})
        await waiting

    asyncio.run(run())
    assert value["spec"]["serviceAccountName"] == "default"


def test_waiting_for_the_default_account_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_account, "_ACCOUNT_TIMEOUT", 0.01)
    world = World()
    with refused(
        'pods "a" is forbidden: error looking up service account ns/default:'
        ' serviceaccount "default" not found'
    ):
        world.create(ServiceAccount(KUBERNETES, world.find), PODS, pod())


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [
        ({}, {}, True),
        ({"automountServiceAccountToken": False}, {}, False),
        ({"automountServiceAccountToken": True}, {"automountServiceAccountToken": False}, False),
        ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": True}, True),
    ],
)
def test_automount(of_account: dict[str, Any], of_pod: dict[str, Any], mounted: bool) -> None:
    world, plugin = _world(**of_account)
    spec = world.create(plugin, PODS, pod(serviceAccountName="sa", **of_pod))["spec"]
    assert bool(spec.get("volumes")) is mounted
    assert bool(spec["containers"][0].get("volumeMounts")) is mounted


@both_dialects
def test_token_volume(dialect: Dialect) -> None:
    world, plugin = _world(dialect)
    spec = world.create(plugin, PODS, pod(initContainers=[{"name": "i", "image": "i"}]))["spec"]
    (volume,) = spec["volumes"]
    name = volume["name"]
    assert name.startswith(f"{dialect.system_prefix}-api-access-")
    assert len(name.rpartition("-")[2]) == 5
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    assert volume["projected"] == {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": dialect.ca_config_map,
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
    }
    path = dialect.label("/var/run/secrets/@/serviceaccount")
    mounts = [{"name": name, "readOnly": True, "mountPath": path}]
    assert spec["containers"][0]["volumeMounts"] == mounts
    assert spec["initContainers"][0]["volumeMounts"] == mounts


def test_a_container_with_a_mount_at_the_path_keeps_it() -> None:
    world, plugin = _world()
    own = {"name": "own", "mountPath": PATH}
    spec = world.create(
        plugin,
        PODS,
        pod(
            volumes=[{"name": "own", "emptyDir": {}}],
            containers=[{"name": "c", "image": "i", "volumeMounts": [own]}],
        ),
    )["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["own"]
    assert [mount["name"] for mount in spec["containers"][0]["volumeMounts"]] == ["own"]


def test_a_volume_of_that_name_is_used() -> None:
    world, plugin = _world()
    spec = world.create(
        plugin, PODS, pod(volumes=[{"name": "kube-api-access-mine", "emptyDir": {}}])
    )["spec"]
    assert len(spec["volumes"]) == 1
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


@pytest.mark.parametrize(
    ("given", "result"), [(None, [{"name": "pull"}]), ([{"name": "own"}], [{"name": "own"}])]
)
def test_pull_secrets(given: Any, result: Any) -> None:
    world, plugin = _world(imagePullSecrets=[{"name": "pull"}])
    spec = {"imagePullSecrets": given} if given else {}
    created = world.create(plugin, PODS, pod(serviceAccountName="sa", **spec))["spec"]
    assert created["imagePullSecrets"] == result


def test_a_changed_account_is_read_again() -> None:
    world, plugin = _world()
    world.create(plugin, PODS, pod(serviceAccountName="sa"))
    world.put(ACCOUNTS, {"metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "new"}]})
    spec = world.create(plugin, PODS, pod(serviceAccountName="sa"))["spec"]
    assert spec["imagePullSecrets"] == [{"name": "new"}]


_NOT_LISTED = "is not allowed because service account sa does not reference that"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (
            {"volumes": [{"name": "v", "secret": {"secretName": "other"}}]},
            f'volume with secret.secretName="other" {_NOT_LISTED} secret',
        ),
        (
            {"containers": [{"name": "c", "image": "i", "env": _secret_env("other")}]},
            f'container c with envVar E referencing secret.secretName="other" {_NOT_LISTED} secret',
        ),
        (
            {"initContainers": [{"name": "n", "image": "i", "env": _secret_env("other")}]},
            'init container n with envVar E referencing secret.secretName="other"'
            f" {_NOT_LISTED} secret",
        ),
        (
            {"imagePullSecrets": [{"name": "pull"}, {"name": "other"}]},
            f'imagePullSecrets[1].name="other" {_NOT_LISTED} imagePullSecret',
        ),
    ],
)
def test_mountable_secrets_are_enforced(spec: dict[str, Any], why: str) -> None:
    world, plugin = _limited()
    with refused(f'pods "a" is forbidden: {why}'):
        world.create(plugin, PODS, pod(serviceAccountName="sa", **spec))


def _limited() -> tuple[World, ServiceAccount]:
    return _world(
        metadata={"name": "sa", "annotations": ENFORCE},
        secrets=[{"name": "allowed"}],
        imagePullSecrets=[{"name": "pull"}],
    )


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"volumes": [{"name": "v", "secret": {"secretName": "allowed"}}]},
        {"containers": [{"name": "c", "image": "i", "env": _secret_env("allowed")}]},
        {"containers": [{"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]},
    ],
)
def test_listed_secrets_may_be_used(spec: dict[str, Any]) -> None:
    world, plugin = _limited()
    value = world.create(plugin, PODS, pod(serviceAccountName="sa", **spec))
    assert value["spec"]["imagePullSecrets"] == [{"name": "pull"}]


def test_ephemeral_containers_use_listed_secrets_only() -> None:
    world, plugin = _limited()
    old = pod(serviceAccountName="sa")
    new = pod(
        serviceAccountName="sa",
        ephemeralContainers=[{"name": "e", "image": "i", "env": _secret_env("other")}],
    )
    with refused(
        'pods "a" is forbidden: ephemeral container e with envVar E referencing'
        f' secret.secretName="other" {_NOT_LISTED} secret'
    ):
        world.update(plugin, EPHEMERAL, old, new)
    world.update(plugin, EPHEMERAL, old, old)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"serviceAccountName": "sa"}, "reference service accounts"),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, "reference secrets"),
        (
            {"containers": [{"name": "c", "image": "i", "env": _secret_env("s")}]},
            "reference secrets",
        ),
        (
            {
                "volumes": [
                    {
                        "name": "v",
                        "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]},
                    }
                ]
            },
            "use ServiceAccountToken volume projections",
        ),
    ],
)
def test_mirror_pods_get_nothing_from_the_cluster(spec: dict[str, Any], why: str) -> None:
    world, plugin = _world()
    with refused(f'pods "a" is forbidden: a mirror pod may not {why}'):
        world.create(plugin, PODS, {**pod(**spec), "metadata": dict(MIRROR)})


def test_mirror_pods_stay_as_they_are() -> None:
    world, plugin = _world()
    spec = world.create(plugin, PODS, {**pod(), "metadata": dict(MIRROR)})["spec"]
    assert "serviceAccountName" not in spec
    assert not spec.get("volumes")


def test_updates_are_left_alone() -> None:
    world, plugin = _world()
    value = world.update(plugin, PODS, pod(), pod())
    assert not value["spec"].get("serviceAccountName")
