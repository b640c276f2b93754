"""The keys of objects in etcd: the paths of the reference, below its prefix."""

from __future__ import annotations

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.etcd_format.codec import ReferenceCodec
from fairlead.resources.registry import Resources

RESOURCES = Resources(KUBERNETES, BuiltinTypes(KUBERNETES))
CODEC = ReferenceCodec(RESOURCES)

# As its own test of storage paths lists them.
PATHS = {
    "/configmaps/n/a": ("core/configmaps", "n/a"),
    "/services/specs/n/a": ("core/services", "n/a"),
    "/services/endpoints/n/a": ("core/endpoints", "n/a"),
    "/podtemplates/n/a": ("core/podtemplates", "n/a"),
    "/pods/n/a": ("core/pods", "n/a"),
    "/resourcequotas/n/a": ("core/resourcequotas", "n/a"),
    "/limitranges/n/a": ("core/limitranges", "n/a"),
    "/namespaces/a": ("core/namespaces", "a"),
    "/minions/a": ("core/nodes", "a"),
    "/persistentvolumes/a": ("core/persistentvolumes", "a"),
    "/events/n/a": ("core/events", "n/a"),
    "/persistentvolumeclaims/n/a": ("core/persistentvolumeclaims", "n/a"),
    "/serviceaccounts/n/a": ("core/serviceaccounts", "n/a"),
    "/secrets/n/a": ("core/secrets", "n/a"),
    "/controllers/n/a": ("core/replicationcontrollers", "n/a"),
    "/daemonsets/n/a": ("apps/daemonsets", "n/a"),
    "/deployments/n/a": ("apps/deployments", "n/a"),
    "/statefulsets/n/a": ("apps/statefulsets", "n/a"),
    "/replicasets/n/a": ("apps/replicasets", "n/a"),
    "/controllerrevisions/n/a": ("apps/controllerrevisions", "n/a"),
    "/horizontalpodautoscalers/n/a": ("autoscaling/horizontalpodautoscalers", "n/a"),
    "/jobs/n/a": ("batch/jobs", "n/a"),
    "/cronjobs/n/a": ("batch/cronjobs", "n/a"),
    "/certificatesigningrequests/a": ("certificates.k8s.io/certificatesigningrequests", "a"),
    "/leases/n/a": ("coordination.k8s.io/leases", "n/a"),
    "/endpointslices/n/a": ("discovery.k8s.io/endpointslices", "n/a"),
    "/ingress/n/a": ("networking.k8s.io/ingresses", "n/a"),
    "/ingressclasses/a": ("networking.k8s.io/ingressclasses", "a"),
    "/networkpolicies/n/a": ("networking.k8s.io/networkpolicies", "n/a"),
    "/poddisruptionbudgets/n/a": ("policy/poddisruptionbudgets", "n/a"),
    "/storageclasses/a": ("storage.k8s.io/storageclasses", "a"),
    "/volumeattachments/a": ("storage.k8s.io/volumeattachments", "a"),
    "/csidrivers/a": ("storage.k8s.io/csidrivers", "a"),
    "/csinodes/a": ("storage.k8s.io/csinodes", "a"),
    "/csistoragecapacities/n/a": ("storage.k8s.io/csistoragecapacities", "n/a"),
    "/priorityclasses/a": ("scheduling.k8s.io/priorityclasses", "a"),
    "/runtimeclasses/a": ("node.k8s.io/runtimeclasses", "a"),
    "/roles/n/a": ("rbac.authorization.k8s.io/roles", "n/a"),
    "/rolebindings/n/a": ("rbac.authorization.k8s.io/rolebindings", "n/a"),
    "/clusterroles/system:a": ("rbac.authorization.k8s.io/clusterroles", "system:a"),
    "/clusterrolebindings/a": ("rbac.authorization.k8s.io/clusterrolebindings", "a"),
    "/flowschemas/a": ("flowcontrol.apiserver.k8s.io/flowschemas", "a"),
    "/prioritylevelconfigurations/a": (
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
        "a",
    ),
    "/validatingwebhookconfigurations/a": (
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        "a",
    ),
    "/mutatingwebhookconfigurations/a": (
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "a",
    ),
    "/apiextensions.k8s.io/customresourcedefinitions/a.b.c": (
        "apiextensions.k8s.io/customresourcedefinitions",
        "a.b.c",
    ),
    "/apiregistration.k8s.io/apiservices/v1.apps": (
        "apiregistration.k8s.io/apiservices",
        "v1.apps",
    ),
    "/example.com/widgets/n/a": ("example.com/widgets", "n/a"),
    "/example.com/racks/a": ("example.com/racks", "a"),
}


def test_the_list_names_every_built_in_resource() -> None:
    listed = {resource for resource, _ in PATHS.values()}
    assert {RESOURCES.stored_as(item) for item in RESOURCES.stored()} <= listed


@pytest.mark.parametrize("path", PATHS)
def test_a_path_and_its_place_say_the_same(path: str) -> None:
    assert CODEC.location(path) == PATHS[path]
    assert CODEC.path(*PATHS[path]) == path


@pytest.mark.parametrize("path", PATHS)
def test_the_keys_of_a_resource_lie_behind_one_another(path: str) -> None:
    resource, key = PATHS[path]
    assert CODEC.path(resource, "") + key == path


@pytest.mark.parametrize(
    "path",
    [
        "/ranges/serviceips",
        "/ranges/servicenodeports",
        "/masterleases/10.0.0.1",
        "/storageversions/a",  # not served
        "/networking.k8s.io/ingresses/n/a",
        "/services/n/a",
        "/pods/a",
        "/pods/n/a/b",
        "/pods/n/",
        "/pods//a",
        "/pods/",
        "/minions/n/a",
        "/example.com/widgets",
        "/example.com/widgets/",
        "/example.com/widgets/n/a/b",
        "/example.com//n/a",
        "/",
        "",
        "compact_rev_key",
    ],
)
def test_what_is_no_object_that_is_served_has_no_place(path: str) -> None:
    assert CODEC.location(path) is None


def test_what_only_our_servers_share_lies_aside() -> None:
    assert CODEC.path("fairlead/serviceclaims", "port/80") == "/fairlead/serviceclaims/port/80"
    place = ("fairlead/serviceclaims", "port/80")
    assert CODEC.location("/fairlead/serviceclaims/port/80") == place
    row = b'{"metadata":{"name":"80"}}'
    assert CODEC.decode(*place, CODEC.encode(*place, "", row)) == ("", row)


def test_the_other_dialect_has_its_own_names() -> None:
    codec = ReferenceCodec(Resources(CLUSTER, BuiltinTypes(CLUSTER)))
    resource = "apiextensions.cluster.io/customresourcedefinitions"
    assert codec.path(resource, "a") == f"/{resource}/a"
    assert codec.path("networking.cluster.io/ingresses", "n/a") == "/ingress/n/a"
    assert codec.path("policy/podsecuritypolicies", "a") == "/podsecuritypolicy/a"
