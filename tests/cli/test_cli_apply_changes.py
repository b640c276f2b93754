"""The patches of client-side apply and edit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.cli.apply.changes import changes, patch_type, type_of
from fairlead.client import ResourceType
from fairlead.client.resources import MERGE_PATCH, STRATEGIC_PATCH
from fairlead.codec.types.model import Struct
from fairlead.fields.merge_patch import apply_merge_patch
from fairlead.fields.strategic import apply_strategic_patch

Object = dict[str, Any]


def pods() -> Struct:
    type_ = type_of(KUBERNETES, ResourceType("", "v1", "pods", "Pod", True))
    assert type_ is not None
    return type_


def pod(*containers: Object, **fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [*containers]}, **fields}


@pytest.mark.parametrize("dialect", [KUBERNETES, CLUSTER], ids=lambda item: item.name)
def test_types_of_both_dialects_are_known(dialect: Dialect) -> None:
    group = dialect.group_name("rbac.authorization.@")
    type_ = type_of(dialect, ResourceType(group, "v1", "roles", "Role", True))
    assert patch_type(type_) == STRATEGIC_PATCH
    own = type_of(dialect, ResourceType("example.com", "v1", "foos", "Foo", True))
    assert patch_type(own) == MERGE_PATCH
    new = type_of(dialect, ResourceType("apps", "v9", "foos", "Foo", True))
    assert new is None


def test_nothing_to_change_is_no_patch() -> None:
    value = pod({"name": "a", "image": "1"})
    live = pod({"name": "a", "image": "1", "imagePullPolicy": "Always"}, status={"phase": "x"})
    assert changes(pods(), value, value, live) == {}


def test_values_of_a_list_are_added_and_removed_one_by_one() -> None:
    last, wanted, live = (
        pod(metadata={"finalizers": names})
        for names in (["a/b", "c/d"], ["a/b", "g/h"], ["a/b", "c/d", "e/f"])
    )
    patched = apply_strategic_patch(pods(), live, changes(pods(), last, wanted, live))
    assert sorted(patched["metadata"]["finalizers"]) == ["a/b", "e/f", "g/h"]


def test_items_that_their_key_does_not_tell_apart_are_replaced_together() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    live = pod({"name": "a", "ports": ports[:1]})
    wanted = pod({"name": "a", "ports": ports})
    patched = apply_strategic_patch(pods(), live, changes(pods(), {}, wanted, live))
    assert patched["spec"]["containers"][0]["ports"] == ports


def _random_pod(random: random.Random) -> Object:
    containers = [
        {
            "name": name,
            "image": random.choice("123"),
            "env": [
                {"name": key, "value": random.choice("xy")}
                for key in random.sample("ABC", random.randint(0, 3))
            ],
            "args": random.choices("pq", k=random.randint(0, 2)),
        }
        for name in random.sample("abcd", random.randint(1, 4))
    ]
    labels = {key: random.choice("12") for key in random.sample("xyz", random.randint(0, 3))}
    return pod(*containers, metadata={"labels": labels})


@pytest.mark.parametrize("seed", range(5))
def test_a_patch_leads_from_what_was_applied_to_what_is_wanted(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        last, wanted = _random_pod(chance), _random_pod(chance)
        strategic = apply_strategic_patch(pods(), last, changes(pods(), last, wanted, last))
        merged = apply_merge_patch(last, changes(None, last, wanted, last))
        assert merged == wanted
        assert strategic == wanted


def test_the_order_of_items_is_that_of_the_configuration() -> None:
    first, second = {"name": "a", "image": "1"}, {"name": "b", "image": "2"}
    live, wanted = pod(first, second), pod(second, first)
    patched = apply_strategic_patch(pods(), live, changes(pods(), live, wanted, live))
    assert patched["spec"]["containers"] == [second, first]


def test_a_null_on_both_sides_is_no_change() -> None:
    template = {"metadata": {"creationTimestamp": None, "name": "a"}}
    for struct in (pods(), None):
        live = pod(**template)
        assert changes(struct, live, live, live) == {}
        assert changes(struct, live, pod(metadata={"name": "a"}), live) == {}
        assert changes(struct, {}, live, pod(metadata={"name": "a"})) == {}
