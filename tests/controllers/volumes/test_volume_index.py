"""The index of volumes finds the same as a full search."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.base.dialect import KUBERNETES
from fairlead.controllers.volumes.facts import could_hold
from fairlead.controllers.volumes.index import Index, Links
from fairlead.controllers.volumes.names import Annotations

Object = dict[str, Any]
NAMES = Annotations.of(KUBERNETES)
MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]

_modes = st.lists(st.sampled_from(MODES), min_size=1, unique=True)
_classes = st.sampled_from(["", "a", "b"])
_volume_modes = st.sampled_from(["Filesystem", "Block"])
_sizes = st.integers(1, 4).map("{}Gi".format)
_claims = st.builds(
    lambda name, size, modes, volume_mode, class_name: {
        "metadata": {"name": name},
        "spec": {
            "accessModes": modes,
            "volumeMode": volume_mode,
            "storageClassName": class_name,
            "resources": {"requests": {"storage": size}},
        },
    },
    *(st.sampled_from("pqrs"), _sizes, _modes, _volume_modes, _classes),
)
_volumes = st.builds(
    lambda name, size, modes, volume_mode, class_name, phase: {
        "metadata": {"name": name},
        "spec": {
            "accessModes": modes,
            "volumeMode": volume_mode,
            "storageClassName": class_name,
            "capacity": {"storage": size},
        },
        "status": {"phase": phase},
    },
    *(st.sampled_from("tuvw"), _sizes, _modes, _volume_modes, _classes),
    st.sampled_from(["Available", "Available", "Released"]),
)


def _filled(volumes: list[Object], claims: list[Object]) -> tuple[Index, list[Object]]:
    """Return an index with all these objects, and the last version of each name."""
    index = Index(NAMES)
    for volume in volumes:
        index.update_volume(volume["metadata"]["name"], volume)
    for claim in claims:
        index.update_claim(f"n/{claim['metadata']['name']}", claim)
    return index, list({volume["metadata"]["name"]: volume for volume in volumes}.values())


def _fits(volume: Object, claim: Object) -> bool:
    same_class = volume["spec"]["storageClassName"] == claim["spec"]["storageClassName"]
    is_free = volume["status"]["phase"] == "Available"
    return same_class and is_free and could_hold(volume, claim)


@given(st.lists(_volumes, max_size=12), _claims)
def test_free_volumes_come_with_the_fewest_modes_and_the_least_size_first(
    volumes: list[Object], claim: Object
) -> None:
    index, newest = _filled(volumes, [])
    fitting = [volume for volume in newest if _fits(volume, claim)]
    results = list(index.free.matching(claim, claim["spec"]["storageClassName"]))
    assert sorted(results) == sorted(volume["metadata"]["name"] for volume in fitting)
    by_name = {volume["metadata"]["name"]: volume["spec"] for volume in fitting}
    order = [(len(spec["accessModes"]), sorted(spec["accessModes"]), spec["capacity"]["storage"])
             for spec in (by_name[name] for name in results)]  # fmt: skip
    assert order == sorted(order)


@given(_volumes, st.lists(_claims, max_size=12))
def test_a_volume_finds_the_claims_that_it_fits(volume: Object, claims: list[Object]) -> None:
    index, _ = _filled([], claims)
    volume["status"]["phase"] = "Available"
    newest = {claim["metadata"]["name"]: claim for claim in claims}
    fitting = [f"n/{name}" for name, claim in newest.items() if _fits(volume, claim)]
    texts = index.waiting.fitting(volume, volume["spec"]["storageClassName"])
    assert sorted(texts) == sorted(fitting)


def test_what_is_gone_or_bound_is_no_longer_found() -> None:
    volume: Object = {
        "metadata": {"name": "v"},
        "spec": {"accessModes": MODES, "capacity": {"storage": "1Gi"}},
        "status": {"phase": "Available"},
    }
    requests = {"requests": {"storage": "1Gi"}}
    claim: Object = {
        "metadata": {"name": "c"},
        "spec": {"accessModes": MODES, "resources": requests},
    }
    index, _ = _filled([volume], [claim])
    assert list(index.free.matching(claim, "")) == ["v"]
    reference = {"namespace": "n", "name": "c"}
    index.update_volume("v", {**volume, "spec": {**volume["spec"], "claimRef": reference}})
    assert list(index.free.matching(claim, "")) == []
    assert index.reserved.keys_of("n/c") == ("v",)
    index.update_claim("n/c", {**claim, "spec": {**claim["spec"], "volumeName": "v"}})
    assert index.waiting.of_class("") == []
    assert index.named.keys_of("v") == ("n/c",)
    index.update_claim("n/c", None)
    index.update_volume("v", None)
    assert (index.named.keys_of("v"), index.reserved.keys_of("n/c")) == ((), ())


def test_links_keep_the_order_in_which_they_were_set() -> None:
    links = Links()
    for key in ("b", "a", "c", "b"):
        links.set(key, "x")
    links.set("a", "y")
    assert (links.keys_of("x"), links.keys_of("y")) == (("b", "c"), ("a",))
    links.set("c", None)
    assert links.keys_of("x") == ("b",)
