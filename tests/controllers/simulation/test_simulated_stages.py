"""Stages: what happens to objects of any kind in place of an absent operator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.client import Object
from support.process import failed_start
from support.simulation import Pods
from support.waiting import eventually

from fairlead.client.errors import NotFound
from fairlead.testing import Cluster

GROUP, KIND = "stages.example.com/v1", "Database"
STAGE = "kwok.x-k8s.io/v1alpha1"
NEW = {".metadata.deletionTimestamp": None, ".status.phase": None}
FINALIZER = "example.com/backup"
ON_SIMULATED = {"simulation.fairlead/on-simulated-nodes": "true"}


def definition(group: str = "stages.example.com") -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"databases.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "databases", "kind": KIND},
            "versions": [version],
        },
    }


def stage(name: str, api_version: str = GROUP, kind: str = KIND, **spec: Any) -> Object:
    annotations = spec.pop("annotations", {})
    spec = {"selector": {"matchExpressions": []}, **spec}
    return {
        "apiVersion": STAGE,
        "kind": "Stage",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"resourceRef": {"apiGroup": api_version, "kind": kind}, **spec},
    }


def has(key: str, *values: str, operator: str = "In") -> Object:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with Cluster("--simulate-nodes", "1") as running:
        running.definitions(definition())
        running.wait_idle()
        yield running


class Play:
    """A namespace of a server that plays stages."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.namespace = cluster.new_namespace()
        self.databases = cluster.admin.resource(f"databases.{GROUP.partition('/')[0]}")

    def create(self, name: str = "db", **fields: Any) -> Object:
        metadata = {"name": name, **fields.pop("metadata", {})}
        body = {"apiVersion": GROUP, "kind": KIND, "metadata": metadata, **fields}
        created = self.databases.create(body, self.namespace)
        self.cluster.wait_idle()
        return created

    def status(self, name: str = "db") -> Object:
        self.cluster.wait_idle()
        status: Object = self.databases.get(name, self.namespace).get("status") or {}
        return status

    def phase(self, name: str = "db") -> str | None:
        return self.status(name).get("phase")

    def told(self, text: str, name: str = "db", reason: str = "") -> str:
        """Wait for an event with a text about an object, and return its message."""

        def found() -> list[str]:
            events = self.cluster.admin.resource("events")
            return [
                item["message"]
                for namespace in ("default", self.namespace)
                for item in events.list(namespace)["items"]
                if item["involvedObject"]["name"] == name
                and item["reason"] == (reason or item["reason"])
                and text in item["message"]
            ]

        eventually(lambda: bool(found()), f"an event {reason} {text} about {name}")
        return found()[0]

    def config_map(self, name: str) -> Object:
        self.cluster.wait_idle()
        return self.cluster.admin.resource("configmaps").get(name, self.namespace)

    def is_gone(self, name: str = "db") -> bool:
        self.cluster.wait_idle()
        try:
            self.databases.get(name, self.namespace)
        except NotFound:
            return True
        return False


@pytest.fixture
def play(shared: Cluster) -> Iterator[Play]:
    """A namespace; the stages of the test end with it."""
    yield Play(shared)
    shared.end_lent()


def test_a_custom_resource_becomes_ready_after_a_delay_and_waits_for_its_deletion(
    play: Play,
) -> None:
    play.cluster.stage(GROUP, KIND, NEW, after=2, until=5, status={"phase": "Ready"})
    deleted = {".metadata.deletionTimestamp": True}
    removed = {"remove": [{"value": FINALIZER}]}
    play.cluster.stage(GROUP, KIND, deleted, after=1, finalizers=removed)
    play.create(metadata={"finalizers": [FINALIZER]})
    play.cluster.advance(1.5)
    assert play.phase() is None
    play.cluster.advance(4)
    assert play.phase() == "Ready"
    play.databases.delete("db", play.namespace)
    assert not play.is_gone()
    play.cluster.advance(2)
    assert play.is_gone()


@pytest.mark.both_dialects
def test_stages_work_in_each_dialect(any_pods: Pods) -> None:
    space = any_pods.space
    stages = space.everywhere("stages", "kwok.x-k8s.io", "v1alpha1")
    following = {"patches": [{"template": "data: {by: '{{ .metadata.name }}'}"}]}
    selector = {
        "matchLabels": {"space": space.name},
        "matchExpressions": [has(".data.by", operator="DoesNotExist")],
    }
    body = {
        "resourceRef": {"apiGroup": "v1", "kind": "ConfigMap"},
        "selector": selector,
        "delay": {"durationMilliseconds": 60_000},
        "next": following,
    }
    stages.create(space.name, apiVersion=STAGE, kind="Stage", spec=body)
    space.config_maps.create("a", labels={"space": space.name})
    eventually(lambda: bool(stages.read(space.name).get("status")), "the stage is accepted")
    space.server.advance(61)
    eventually(
        lambda: space.config_maps.read("a").get("data") == {"by": "a"}, "the stage is played"
    )
    stages.remove(space.name)


def test_steps_patch_record_events_apply_other_objects_and_delete(play: Play) -> None:
    template = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .metadata.name }}-config'}\n"
        "data: {size: {{ .spec.size | Quote }}}"
    )
    steps = [
        {"event": {"type": "Normal", "reason": "Made", "message": "made by a stage"}},
        {"finalizers": {"add": [{"value": FINALIZER}]}},
        {"apply": {"template": template}},
        {"patch": {"root": "status", "subresource": "status", "template": "phase: Made"}},
        {
            "patch": {
                "type": "json",
                "root": "metadata",
                "template": '[{op: add, path: /labels, value: {made: "yes"}}]',
            }
        },
    ]
    selector = {"matchExpressions": [has(".status.phase", operator="DoesNotExist")]}
    play.cluster.stages(stage("made", selector=selector, steps=steps))
    play.create(spec={"size": 3})
    assert play.phase() == "Made"
    made = play.databases.get("db", play.namespace)
    assert made["metadata"]["labels"] == {"made": "yes"}
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert play.config_map("db-config")["data"] == {"size": "3"}
    play.told("made by a stage", reason="Made")
    play.cluster.stage(
        GROUP, KIND, {".status.phase": "Made"}, finalizers={"empty": True}, delete=True
    )
    assert play.is_gone()


def test_weights_decide_between_stages_and_a_seed_repeats_the_choice(play: Play) -> None:
    selector = {"matchExpressions": [has(".status.phase", operator="DoesNotExist")]}
    weights = {"often": 3, "seldom": 1, "never": 0}
    stages = [
        stage(
            name,
            selector=selector,
            weight=weight,
            next={"statusTemplate": f"phase: {name}"},
            annotations={"simulation.fairlead/seed": "a"},
        )
        for name, weight in weights.items()
    ]
    names = [f"db-{number}" for number in range(24)]

    def phases() -> list[str | None]:
        for name in names:
            play.databases.create(
                {"apiVersion": GROUP, "kind": KIND, "metadata": {"name": name}}, play.namespace
            )
        return [play.phase(name) for name in names]

    with play.cluster.stages(stages):
        first = phases()
        assert "never" not in first
        assert first.count("often") > first.count("seldom") > 0
        play.databases.delete_collection(play.namespace)
        play.cluster.wait_idle()
        assert phases() == first


def test_delay_and_weight_come_from_the_object(play: Play) -> None:
    source = {"expressionFrom": '.metadata.annotations["delay"]'}
    new = {"matchExpressions": [has(".status.phase", operator="DoesNotExist")]}
    delay = {"durationMilliseconds": 1000, "durationFrom": source}
    weight = {"jq": {"expression": ".spec.weight"}}
    following = {"statusTemplate": "phase: Late"}
    late = stage("late", selector=new, delay=delay, weightFrom=weight, next=following)
    other = stage("other", selector=new, weight=0, next={"statusTemplate": "phase: Other"})
    play.cluster.stages([late, other])
    play.create("a", spec={"weight": 1}, metadata={"annotations": {"delay": "1h"}})
    play.create("b", spec={"weight": 1})
    play.cluster.advance(2)
    assert (play.phase("a"), play.phase("b")) == (None, "Late")
    play.cluster.advance(3600)
    assert play.phase("a") == "Late"


def test_expressions_of_cel_match_and_their_failures_are_told(play: Play) -> None:
    cel = {"cel": {"expression": "self.spec.size > 2 && !has(self.status)"}}
    selector = {"matchExpressions": [cel]}
    play.cluster.stages(stage("large", selector=selector, next={"statusTemplate": "phase: Large"}))
    play.create("small", spec={"size": 1})
    play.create("large-db", spec={"size": 3})
    play.create("without", metadata={})
    assert [play.phase(name) for name in ("small", "large-db")] == [None, "Large"]
    play.told("no such key: spec", "large")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"next": {"statusTemplate": "{{ genCA 1 }}"}}, 'the function "genCA" is not supported'),
        ({"next": {"statusTemplate": "{{ if }}"}}, "next.statusTemplate: a value is missing"),
        ({"selector": {"matchExpressions": [has(". as $x | 1", "1")]}}, '"as" is not supported'),
        ({"selector": {"matchExpressions": [has(".a", operator="Near")]}}, 'operator "Near"'),
        ({"selector": {"matchExpressions": [{"cel": {"expression": "self."}}]}}, "Syntax error"),
        ({"next": {"patches": [{"type": "strategic", "template": "{}"}]}}, "no strategic patches"),
        ({"next": {"patches": [{"subresource": "scale"}]}}, 'no subresource "scale"'),
        ({"resourceRef": {"apiGroup": "x.example.com/v1", "kind": "X"}}, 'no kind "X"'),
    ],
)
def test_what_a_stage_uses_and_is_not_supported_is_named(
    play: Play, spec: Object, text: str
) -> None:
    with pytest.raises(ValueError, match=r"stage refused: ") as refusal:
        play.cluster.stages(stage("refused", **spec))
    assert text in str(refusal.value)
    play.told(text, "refused")


def test_a_kind_may_be_defined_after_its_stage(play: Play) -> None:
    group = f"{play.namespace}.example.com"
    value = stage("early", f"{group}/v1", next={"statusTemplate": "phase: Ready"})
    stages = play.cluster.admin.resource("stages.kwok.x-k8s.io")
    value["spec"]["selector"] = {"matchExpressions": [has(".status", operator="DoesNotExist")]}
    stages.create(value)
    play.cluster.definitions(definition(group))
    play.databases = play.cluster.admin.resource(f"databases.{group}")
    body = {"apiVersion": f"{group}/v1", "kind": KIND, "metadata": {"name": "db"}}
    play.databases.create(body, play.namespace)
    assert play.phase() == "Ready"
    stages.delete("early")


def test_stages_may_have_stages(play: Play) -> None:
    new = {".metadata.labels": None, ".spec.weight": "7"}
    patch = {"template": "metadata: {labels: {seen: 'yes'}}"}
    with play.cluster.stage(STAGE, "Stage", new, patches=[patch]):
        play.cluster.stages(stage("seen", weight=7))
        play.cluster.wait_idle()
        stages = play.cluster.admin.resource("stages.kwok.x-k8s.io")
        assert stages.get("seen")["metadata"]["labels"] == {"seen": "yes"}
    play.cluster.stages(stage("later"))


def test_a_stage_that_matches_its_own_result_is_slowed_down_and_told(play: Play) -> None:
    play.cluster.stage(
        GROUP, KIND, {}, status={"at": "{{ Now }}", "x": "{{ .metadata.resourceVersion }}"}
    )
    play.create()
    play.told("again and again", reason="StageLoop")
    requests = play.cluster.requests(verb="patch")
    before = play.status()["x"]
    play.cluster.advance(3)
    assert play.status()["x"] != before
    assert len(play.cluster.requests(verb="patch")) - len(requests) < 10


def test_a_template_without_end_fails_and_is_told(play: Play) -> None:
    loop = "{{ range until 9000 }}{{ range until 9000 }}{{ end }}{{ end }}phase: Never"
    play.cluster.stage(GROUP, KIND, {".status.phase": None}, status=loop)
    play.create()
    # More than 50000 steps, or a second of CPU on a slow machine.
    play.told("the template takes ", reason="StageFailed")
    assert play.phase() is None


def test_a_template_of_few_but_long_steps_fails_and_is_told(play: Play) -> None:
    pipeline = " | ".join(["$x", *["upper", "lower"] * 3])
    loop = "{{ range until 5000 }}{{ $y := " + pipeline + " }}{{ end }}phase: Never"
    text = '{{ $x := repeat 250000 "x" }}' + loop
    play.cluster.stage(GROUP, KIND, {".status.phase": None}, status=text)
    play.create()
    play.told("the template takes too long", reason="StageFailed")
    assert play.phase() is None


def test_a_stage_acts_as_the_user_that_it_impersonates(play: Play) -> None:
    patch = {"template": "metadata: {labels: {a: b}}", "impersonation": {"username": "nobody"}}
    play.cluster.stage(GROUP, KIND, {".metadata.labels": None}, patches=[patch])
    play.create()
    play.told('User "nobody" cannot patch resource "databases"', reason="StageFailed")


def test_pods_of_simulated_nodes_are_left_to_their_agents(play: Play) -> None:
    following = {"statusTemplate": "phase: Failed\nreason: Chaos"}
    selector = {"matchExpressions": [has(".status.phase", "Running")]}
    spec = {"selector": selector, "next": following}
    pods = play.cluster.admin.resource("pods")
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    with play.cluster.stages(stage("chaos", "v1", "Pod", **spec)):
        pods.create(pod, play.namespace)
        play.cluster.wait_idle()
        assert pods.get("p", play.namespace)["status"]["phase"] == "Running"
    play.cluster.stages(stage("chaos", "v1", "Pod", annotations=ON_SIMULATED, **spec))
    play.cluster.wait_idle()
    assert pods.get("p", play.namespace)["status"]["reason"] == "Chaos"


def test_pods_of_other_nodes_are_moved_by_stages(play: Play) -> None:
    ready = "phase: Running\npodIP: {{ PodIP }}\nconditions: [{type: Ready, status: 'True'}]"
    matches = {".status.phase": "Pending", ".metadata.deletionTimestamp": None}
    play.cluster.stage("v1", "Pod", matches, status=ready)
    pods = play.cluster.admin.resource("pods")
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "none"}
    pods.create(
        {"metadata": {"name": "bound"}, "spec": {**spec, "nodeName": "other"}}, play.namespace
    )
    pods.create({"metadata": {"name": "free"}, "spec": spec}, play.namespace)
    play.cluster.wait_idle()
    phases = [pods.get(name, play.namespace)["status"]["phase"] for name in ("bound", "free")]
    assert phases == ["Running", "Pending"]


def test_stages_of_files_are_played_without_nodes_and_go_on_after_a_crash(tmp_path: Path) -> None:
    file = tmp_path / "stages.yaml"
    text = (
        "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: NAME}\nspec:\n"
        "  resourceRef: {kind: ConfigMap}\n  selector: {matchLabels: {staged: 'yes'}}\n"
        "  delay: {durationMilliseconds: 3600000}\n"
        "  next: {patches: [{template: 'metadata: {labels: {staged: done}}'}]}\n"
    )
    file.write_text(f"{text.replace('NAME', 'a')}---\n{text.replace('NAME', 'b')}")
    with Cluster("--simulate-stages", str(file)) as cluster:
        maps = cluster.admin.resource("configmaps")
        maps.create({"metadata": {"name": "m", "labels": {"staged": "yes"}}}, "default")
        cluster.wait_idle()
        file.write_text(text.replace("NAME", "a"))
        cluster.kill()
        cluster.restart()
        cluster.wait_idle()
        stages = cluster.admin.resource("stages.kwok.x-k8s.io").list()["items"]
        assert [item["metadata"]["name"] for item in stages] == ["a"]
        cluster.advance(3500)
        cluster.wait_idle()
        assert maps.get("m", "default")["metadata"]["labels"]["staged"] == "yes"
        cluster.advance(150)
        cluster.wait_idle()
        assert maps.get("m", "default")["metadata"]["labels"]["staged"] == "done"


def test_a_file_with_other_objects_is_refused_at_start(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: config.kwok.x-k8s.io/v1alpha1\nkind: KwokConfiguration\n")
    failed = failed_start(tmp_path, "--simulate-stages", str(file))
    assert failed.returncode == 2
    assert "kind KwokConfiguration of config.kwok.x-k8s.io/v1alpha1" in failed.stderr
