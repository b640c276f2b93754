"""`fairlead set` and `fairlead autoscale`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.commands import Commands
from support.workloads import replicated


@pytest.fixture
def web(fairlead: Commands) -> Commands:
    """A namespace with the Deployment `web`, whose container `c` has the image `one`."""
    fairlead.space.collection("deployments", "apps").create("web", spec=replicated(1))
    return fairlead


def container(fairlead: Commands) -> dict[str, Any]:
    value = fairlead.space.collection("deployments", "apps").read("web")
    found: dict[str, Any] = value["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("name", ["c", "*"])
def test_images_are_set(web: Commands, name: str) -> None:
    out = web("set", "image", "deployment/web", f"{name}=two:2")
    assert (out, container(web)["image"]) == ("deployment.apps/web image updated\n", "two:2")
    assert web("set", "image", "deploy", "web", f"{name}=two:2").endswith("image unchanged\n")


def test_a_container_that_does_not_exist_is_named(web: Commands) -> None:
    ran = web.run("set", "image", "deployment/web", "d=two")
    assert (ran.code, ran.errors) == (1, "error: deployments/web has no container d\n")
    ran = web.run("set", "image", "deployment/web")
    assert "CONTAINER=IMAGE" in ran.errors


def test_a_client_dry_run_sends_nothing(web: Commands) -> None:
    out = web("set", "image", "deploy/web", "c=two", "--dry-run=client", "-o", "yaml")
    assert "image: two" in out
    assert container(web)["image"] == "one"


def test_variables_are_set_removed_and_listed(web: Commands) -> None:
    web("set", "env", "deployment/web", "A=1", "B=2")
    web("set", "env", "deployment/web", "A-", "B=3")
    assert container(web)["env"] == [{"name": "B", "value": "3"}]
    out = web("set", "env", "deployment/web", "--list")
    assert out == "# Deployment web, container c\nB=3\n"


def test_variables_come_from_a_config_map_and_become_plain_again(web: Commands) -> None:
    web("create", "configmap", "settings", "--from-literal=log-level=high")
    web("set", "env", "deploy/web", "--from=configmap/settings", "--prefix=APP_")
    (entry,) = container(web)["env"]
    reference = {"name": "settings", "key": "log-level"}
    assert entry == {"name": "APP_LOG_LEVEL", "valueFrom": {"configMapKeyRef": reference}}
    web("set", "env", "deploy/web", "APP_LOG_LEVEL=low")
    assert container(web)["env"] == [{"name": "APP_LOG_LEVEL", "value": "low"}]


def test_new_variables_stand_behind_those_they_may_refer_to(web: Commands) -> None:
    web("set", "env", "deploy/web", "B=1")
    web("set", "env", "deploy/web", "A=$(B)", "B=2")
    assert [entry["name"] for entry in container(web)["env"]] == ["B", "A"]


def test_variables_are_listed_with_the_values_of_their_sources(web: Commands) -> None:
    web.space.secrets.create("keys", stringData={"key": "open"})
    web("set", "env", "deploy/web", "--from=secret/keys")
    words = ("set", "env", "deploy/web", "--list")
    assert "\n# KEY from secret keys, key key\n" in web(*words)
    assert "\nKEY=open\n" in web(*words, "--resolve")
    web.space.secrets.remove("keys")
    ran = web.run(*words, "--resolve")
    assert "\n# KEY from secret keys, key key\n" in ran.out
    assert ran.errors == 'error retrieving reference for KEY: secrets "keys" not found\n'


def test_existing_variables_stay_without_overwrite(web: Commands) -> None:
    web("set", "env", "deploy/web", "A=1")
    ran = web.run("set", "env", "deploy/web", "A=2", "--overwrite=false")
    assert (ran.code, container(web)["env"][0]["value"]) == (1, "1")


def test_resources_are_added_to_those_that_are_there(web: Commands) -> None:
    web("set", "resources", "deploy/web", "--limits=cpu=1")
    web("set", "resources", "deploy/web", "--limits=memory=1Gi", "--requests=cpu=100m")
    limits = {"cpu": "1", "memory": "1Gi"}
    assert container(web)["resources"] == {"limits": limits, "requests": {"cpu": "100m"}}
    ran = web.run("set", "resources", "deploy/web", "--limits=cpu=many")
    assert (ran.code, ran.errors) == (1, "error: --limits: many is no amount\n")


def test_a_service_account_is_set(web: Commands) -> None:
    web("set", "serviceaccount", "deploy", "web", "robot")
    value = web.space.collection("deployments", "apps").read("web")
    assert value["spec"]["template"]["spec"]["serviceAccountName"] == "robot"


def test_the_selector_of_a_service_is_replaced(fairlead: Commands) -> None:
    fairlead("create", "service", "clusterip", "web", "--tcp=80")
    fairlead("set", "selector", "service", "web", "tier=front,app=x")
    service = fairlead.space.collection("services").read("web")
    assert service["spec"]["selector"] == {"tier": "front", "app": "x"}
    ran = fairlead.run("set", "selector", "configmap", "x", "a=b")
    assert ran.code == 1


def test_subjects_are_added_to_a_binding(fairlead: Commands) -> None:
    fairlead("create", "rolebinding", "readers", "--role=reader", "--user=ann")
    out = fairlead("set", "subject", "rolebinding", "readers", "--user=bob", "--user=ann")
    assert out.endswith("readers subjects updated\n")
    fairlead("set", "subject", "rolebinding", "readers", "--serviceaccount=a:b")
    wide = fairlead("get", "rolebinding", "readers", "-o", "jsonpath={.subjects[*].name}")
    assert wide == "ann bob b"


def test_an_autoscaler_is_created(web: Commands) -> None:
    out = web("autoscale", "deployment/web", "--min=2", "--max=5", "--cpu=70%", "--memory=500Mi")
    assert out == "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    spec = json.loads(web("get", "hpa", "web", "-o", "json"))["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 5)
    metrics = [metric["resource"] for metric in spec["metrics"]]
    assert {metric["name"]: metric["target"] for metric in metrics} == {
        "cpu": {"type": "Utilization", "averageUtilization": 70},
        "memory": {"type": "AverageValue", "averageValue": "500Mi"},
    }


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ((), "--max is needed"),
        (("--max=1", "--min=2"), "no less than --min"),
        (("--max=1", "--cpu=x"), "neither a share (80%) nor an amount"),
        (("--max=1", "--cpu=0%"), "no share"),
    ],
)
def test_what_cannot_be_scaled_is_refused(
    web: Commands, flags: tuple[str, ...], problem: str
) -> None:
    ran = web.run("autoscale", "deployment/web", *flags)
    assert (ran.code, problem in ran.errors) == (1, True)
