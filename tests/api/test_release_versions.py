"""The release of the API: `--release`, /version and what each release serves."""

from __future__ import annotations

from support.namespaces import Space
from support.process import FreshServer


def test_version_is_that_of_the_release(space_1_36: Space, kubernetes: Space) -> None:
    newer = space_1_36.client.get("/version").body
    assert (newer["minor"], newer["emulationMinor"], newer["minCompatibilityMinor"]) == (
        "36",
        "36",
        "35",
    )
    assert newer["gitVersion"].startswith("v1.36.4+fairlead")
    older = kubernetes.client.get("/version").body
    assert older["minor"] == "25"
    assert "emulationMinor" not in older


def test_kinds_of_a_later_release_are_not_served(space_1_36: Space, kubernetes: Space) -> None:
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    assert space_1_36.client.get(path).status == 200
    assert kubernetes.client.get(path).status == 404


def test_kinds_that_were_removed_are_not_served(space_1_36: Space, kubernetes: Space) -> None:
    path = "/apis/autoscaling/v2beta2/horizontalpodautoscalers"
    assert space_1_36.client.get(path).status == 404
    assert kubernetes.client.get(path).status == 200


def test_fields_of_a_later_release_are_unknown(space_1_36: Space, kubernetes: Space) -> None:
    pod = {
        "metadata": {"name": "gated"},
        "spec": {
            "schedulingGates": [{"name": "example.com/wait"}],
            "containers": [{"name": "c", "image": "i"}],
        },
    }
    path = "/api/v1/namespaces/{}/pods?fieldValidation=Strict"
    newer = space_1_36.client.post(path.format(space_1_36.name), pod)
    assert newer.body["spec"]["schedulingGates"] == [{"name": "example.com/wait"}]
    older = kubernetes.client.post(path.format(kubernetes.name), pod)
    assert older.status == 400
    assert 'unknown field "spec.schedulingGates"' in older.body["message"]


def test_gates_are_those_of_the_release(fresh_server: FreshServer) -> None:
    server = fresh_server("--release=1.36", "--feature-gates=EnvFiles=false")
    assert server.client().get("/version").status == 200
