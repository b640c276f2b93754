"""Parts of a configuration that the object holds and the manager owns already."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from support.patching import POD, Object

from fairlead.codec.types.decode import decoder
from fairlead.codec.types.defaults import fill_defaults
from fairlead.fields.field_sets import FieldSet
from fairlead.fields.typed_values import applied_fields
from fairlead.fields.unchanged import unchanged_fields

CONTAINER: Object = {
    "name": "web",
    "image": "registry.example/web:1",
    "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ],
    "resources": {"limits": {"cpu": "100m"}},
    "stdin": True,
}


def pod(**changed: Any) -> Object:
    spec = {"containers": [{**copy.deepcopy(CONTAINER), **changed}], "nodeSelector": {"a": "b"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}


def stored(config: Object) -> Object:
    live: Object = decoder(POD)(copy.deepcopy(config), [])
    fill_defaults(POD, live)
    return live


def unchanged(
    config: Object, live: Object | None = None, others: list[FieldSet] | None = None
) -> list[str]:
    """Return the fields in which a configuration changes nothing, if its manager owns what `pod()`
    has. Called twice: the second result may come from the cache."""
    owned = applied_fields(POD, pod())
    live = stored(pod()) if live is None else live
    first, second = (unchanged_fields(POD, live, config, owned, others or []) for _ in range(2))
    assert first == second
    assert all(node == owned[element] for element, node in first.items())
    return list(first)


def test_a_spec_that_is_stated_again_is_unchanged() -> None:
    assert unchanged(pod()) == ["f:spec"]


def test_what_others_added_beside_it_does_not_matter() -> None:
    live = stored(pod(env=[{"name": "Z", "value": "1"}, *CONTAINER["env"]], tty=True))
    assert unchanged(pod(), live) == ["f:spec"]


@pytest.mark.parametrize(
    "changed",
    [
        {"image": "registry.example/web:2"},
        {"name": "other"},
        {"tty": True},
        {"stdin": 1},
        {"stdin": None},
        {"resources": {}},
        {"env": CONTAINER["env"][:1]},
        {"env": CONTAINER["env"][::-1]},
        {"env": [*CONTAINER["env"], CONTAINER["env"][0]]},
        {"env": {}},
        {"bogus": 1},
    ],
)
def test_another_spec_is_not_unchanged(changed: Object) -> None:
    assert unchanged(pod(**changed)) == []


def test_a_spec_that_another_manager_changed_is_not_unchanged() -> None:
    assert unchanged(pod(), stored(pod(image="registry.example/web:2"))) == []


def test_defaults_do_not_complete_a_struct_that_another_manager_owns_too() -> None:
    assert unchanged(pod(), others=[{"f:spec": {"f:hostNetwork": {}}}]) == []
    whole = pod()
    whole["spec"]["containers"][0]["env"] = CONTAINER["env"][:1]
    live = stored(whole)
    assert unchanged(whole, live, [{"f:spec": {}}]) == []  # the manager owns one more
