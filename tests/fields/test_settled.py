"""What of a configuration is settled comes to what merging it would: each apply is done twice, once
with everything looked at closely."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from support.patching import POD, STATUS, Cluster, Object, as_stored

from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.mismatch import DecodeError
from fairlead.fields import ownership
from fairlead.fields.conflicts import ApplyConflict, BadConfiguration, InvalidConfiguration
from fairlead.fields.entries import applier, entries_of, entry_of, fields_of
from fairlead.fields.field_sets import EMPTY
from fairlead.fields.stored_entries import StoredEntry
from fairlead.fields.unchanged import (
    Part,
    Settled,
    find_unchanged,
    recheck_unchanged,
    settled_fields,
)

AA = applier("aa", "")


def pod(**changed: Any) -> Object:
    container = {
        "name": "web",
        "image": "registry.example/web:1",
        "command": ["/bin/web"],
        "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
        "env": [
            {"name": "A", "value": "1"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}},
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp", "readOnly": True}],
    }
    spec = {
        "containers": [{**container, **changed}],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
        "nodeSelector": {"disk": "fast"},
    }
    metadata = {"name": "a", "labels": {"app": "web"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def labelled(config: Object, label: str) -> Object:
    return {**config, "metadata": {**config["metadata"], "labels": {"app": label}}}


class Pods(Cluster):
    """Objects are stored as the server stores them, decoded and with defaults."""

    def __init__(self) -> None:
        super().__init__(POD, ignored=STATUS)

    def _store(self, value: Object, entries: list[Object]) -> Object:
        entries = copy.deepcopy(entries)
        typed = {name: value[name] for name in ("apiVersion", "kind")}
        value = {name: copy.deepcopy(item) for name, item in value.items() if name not in typed}
        stored = decoder(POD)(value, [])
        fill_defaults(POD, stored)
        return super()._store({**typed, **stored}, entries)


@pytest.fixture
def pods() -> Pods:
    made = Pods()
    made.apply("aa", pod())
    return made


def outcome(pods: Pods, manager: str, config: Object, **facts: Any) -> Any:
    """What an apply comes to, whoever stores it afterwards."""
    live, seconds = pods.live, pods.seconds
    try:
        made: Any = copy.deepcopy(pods.apply(manager, config, **facts))
    except (ApplyConflict, BadConfiguration, InvalidConfiguration, DecodeError) as error:
        made = f"{type(error).__name__}: {error}"
    pods.live, pods.seconds = live, seconds
    return made


def nothing_settled(live: Object, manager: str) -> Settled:
    last = entry_of(entries_of(live), applier(manager, ""))
    return Settled(EMPTY, fields_of(last) if last else EMPTY, [])


def both_ways(pods: Pods, config: Object, **facts: Any) -> Any:
    """Whether owned fields were read or not."""
    manager = facts.pop("manager", "aa")
    quickly = outcome(pods, manager, config, **facts)
    live = pods.live
    assert live is not None
    pods.live = as_stored(live)
    unread = outcome(pods, manager, config, **facts)
    pods.live = live
    closely = outcome(pods, manager, config, settled=nothing_settled(live, manager), **facts)
    assert orjson.dumps(quickly) == orjson.dumps(closely)
    assert orjson.dumps(unread) == orjson.dumps(closely)
    return quickly


def changed_web(**changed: Any) -> Object:
    return labelled(pod(**changed), "changed")


CHANGES = {
    "a label": changed_web(),
    "an image": changed_web(image="registry.example/web:2"),
    "a variable less": changed_web(env=[{"name": "A", "value": "1"}]),
    "variables in another order": changed_web(env=pod()["spec"]["containers"][0]["env"][::-1]),
    "a variable twice": changed_web(env=[{"name": "A", "value": "1"}] * 2),
    "no variables": changed_web(env=[]),
    "a list that is null": changed_web(env=None),
    "another protocol by default": changed_web(ports=[{"containerPort": 80}]),
    "a port without a number": changed_web(ports=[{"protocol": "TCP"}, {"containerPort": 80}]),
    "an amount in other words": changed_web(resources={"limits": {"cpu": "0.1", "memory": "1Gi"}}),
    "nothing asked for": changed_web(resources={}),
    "a switch that is a number": changed_web(
        volumeMounts=[{"name": "tmp", "mountPath": "/tmp", "readOnly": 1}]
    ),
    "another command": changed_web(command=["/bin/web", "-v"]),
    "a command that is empty": changed_web(command=[]),
    "a text for a list": changed_web(command="/bin/web"),
    "an unknown field": changed_web(colour="blue"),
}


@pytest.mark.parametrize("config", CHANGES.values(), ids=list(CHANGES))
def test_a_changed_configuration_comes_to_what_merging_gives(pods: Pods, config: Object) -> None:
    both_ways(pods, config)


def test_what_is_settled_is_found(pods: Pods) -> None:
    owned = pods.owned_by("aa")
    found = settled_fields(POD, pods.object, changed_web(), owned, [])
    assert found == {"f:spec": owned["f:spec"]}


def test_what_is_settled_is_found_without_reading_what_is_owned(pods: Pods) -> None:
    pods.live = as_stored(pods.object)
    [last] = entries_of(pods.live)
    _, [entry] = ownership.apply(pods.versions, pods.live, changed_web(), **pods._options("aa", {}))
    assert isinstance(last, StoredEntry)
    assert isinstance(entry, StoredEntry)
    assert last._fields is None
    assert entry.written is last.written
    assert entry["time"] != last["time"]


def test_items_of_others_may_stand_between(pods: Pods) -> None:
    with_more = copy.deepcopy(pods.object)
    with_more["spec"]["containers"][0]["env"].insert(1, {"name": "INJECTED", "value": "x"})
    with_more["spec"]["volumes"].insert(0, {"name": "token", "emptyDir": {}})
    pods.put("webhook", with_more)
    made = both_ways(pods, changed_web())
    assert [one["name"] for one in made["spec"]["volumes"]] == ["token", "tmp"]


def test_who_else_owns_a_reference_is_asked(pods: Pods) -> None:
    """A reference is one field. The same manager sets it to what it is; for another it changes."""
    pods.apply("bb", pod(), force=True)
    assert both_ways(pods, changed_web(), manager="aa")


def test_live_items_that_cannot_be_told_apart_are_refused_as_ever(pods: Pods) -> None:
    live = copy.deepcopy(pods.object)
    live["spec"]["containers"][0]["env"] += [{"name": "X"}, {"name": "X"}]
    pods.live = live
    assert "InvalidConfiguration" in both_ways(pods, changed_web())


def test_an_unchanged_configuration_leaves_the_object_alone(pods: Pods) -> None:
    """Though the server has filled in what version its references speak of."""
    before = pods.object["metadata"]["managedFields"]
    live = pods.live
    made, entries = ownership.apply(pods.versions, live, pod(), **pods._options("aa", {}))
    assert made is live
    assert entries is before


def test_a_status_is_none_of_a_configurations_business(pods: Pods) -> None:
    both_ways(pods, {**changed_web(), "status": {"phase": "Running"}})


def test_another_manager_starts_anew(pods: Pods) -> None:
    both_ways(pods, pod(), manager="cc")
    both_ways(pods, pod(image="registry.example/web:9"), manager="cc")


def known_part(pods: Pods) -> Part:
    [part] = find_unchanged(POD, as_stored(pods.object), changed_web(), AA, "v1", STATUS).parts
    return part


def test_a_part_that_was_settled_is_settled_again_while_its_owner_has_the_same(pods: Pods) -> None:
    part = known_part(pods)
    again = recheck_unchanged(as_stored(pods.object), AA, "v1", part)
    assert again is not None
    assert (list(again.fields), list(again.rest)) == (["f:spec"], ["f:metadata"])
    assert recheck_unchanged(as_stored(pods.object), applier("bb", ""), "v1", part) is None
    assert recheck_unchanged(as_stored(pods.object), AA, "v2", part) is None
    pods.apply("aa", pod(tty=True))
    assert recheck_unchanged(as_stored(pods.object), AA, "v1", part) is None


def test_a_part_is_not_settled_again_when_somebody_else_has_fields_there(pods: Pods) -> None:
    part = known_part(pods)
    pods.apply("bb", pod(), force=True)
    assert recheck_unchanged(as_stored(pods.object), AA, "v1", part) is None
