"""LimitRanger: defaults of pods, and limits of pods and claims."""

from __future__ import annotations

from typing import Any

import pytest
from support.client import Object
from support.namespaces import Space
from support.quotas import container, post_claim, post_pod

GI = "1Gi"


@pytest.fixture
def limited(space: Space) -> Space:
    space.ready_for_pods()
    return space


def _limit(space: Space, *limits: Object, name: str = "l") -> None:
    space.collection("limitranges").create(name, spec={"limits": list(limits)})


def _resources(space: Space, name: str, *containers: Object) -> list[Object]:
    answer = post_pod(space, name, *containers)
    assert answer.status == 201, answer.text
    return [item["resources"] for item in answer.body["spec"]["containers"]]


def _refusal(space: Space, *containers: Object, **spec: Any) -> str:
    answer = post_pod(space, "p", *containers, **spec)
    assert (answer.status, answer.body["reason"]) == (403, "Forbidden")
    text: str = answer.message.removeprefix('pods "p" is forbidden: ')
    return text


@pytest.mark.both_dialects
def test_containers_get_what_they_do_not_say(limited: Space) -> None:
    _limit(limited, {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}})
    answer = post_pod(limited, "p", container("a"), container("b", {"cpu": "500m"}, {"cpu": "1"}))
    spec, annotations = answer.body["spec"], answer.body["metadata"]["annotations"]
    assert [item["resources"] for item in spec["containers"]] == [
        {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}},
        {"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}},
    ]
    assert annotations == {
        limited.dialect.label("@/limit-ranger"): (
            "LimitRanger plugin set: cpu request for container a; cpu limit for container a"
        )
    }


@pytest.mark.both_dialects
def test_initial_containers_get_defaults_too(limited: Space) -> None:
    _limit(limited, {"type": "Container", "defaultRequest": {"memory": "1Mi"}})
    answer = post_pod(limited, "p", initContainers=[container("first")])
    first = answer.body["spec"]["initContainers"][0]
    assert first["resources"]["requests"] == {"memory": "1Mi"}
    annotation = answer.body["metadata"]["annotations"][limited.dialect.label("@/limit-ranger")]
    assert annotation.endswith("; memory request for init container first")


def test_several_ranges_give_together(limited: Space) -> None:
    _limit(limited, {"type": "Container", "defaultRequest": {"cpu": "1"}}, name="a")
    _limit(limited, {"type": "Container", "defaultRequest": {"cpu": "2", "memory": GI}}, name="b")
    assert _resources(limited, "p") == [{"requests": {"cpu": "1", "memory": GI}}]


def test_every_violation_is_told(limited: Space) -> None:
    _limit(limited, {"type": "Container", "min": {"cpu": "1", "memory": GI}})
    assert _refusal(limited, container("c", {"cpu": "500m", "memory": "1Mi"})) == (
        "[minimum cpu usage per Container is 1, but request is 500m,"
        " minimum memory usage per Container is 1Gi, but request is 1Mi]"
    )


@pytest.mark.parametrize(
    ("limit", "containers", "message"),
    [
        (
            {"type": "Pod", "min": {"cpu": "1"}},
            [container()],
            "minimum cpu usage per Pod is 1.  No request is specified",
        ),
        (
            {"type": "Container", "min": {"cpu": "1"}},
            [container("c", {"cpu": "500m"}, {"cpu": "500m"})],
            "minimum cpu usage per Container is 1, but request is 500m",
        ),
        (
            {"type": "Container", "max": {"cpu": "1"}},
            [container("c", {"cpu": "1"}, {"cpu": "1500m"})],
            "maximum cpu usage per Container is 1, but limit is 1500m",
        ),
        (
            {"type": "Pod", "max": {"memory": GI}},
            [
                container("a", limits={"memory": "600Mi"}),
                container("b", limits={"memory": "600Mi"}),
            ],
            "maximum memory usage per Pod is 1Gi, but limit is 1258291200",
        ),
        (
            {"type": "Pod", "max": {"memory": GI}},
            [container("a", limits={"memory": "1Mi"}), container("b")],
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            [container("c", {"cpu": "100m"}, {"cpu": "300m"})],
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
            [container("c", {"cpu": "100m"})],
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit"
            " is 0",
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "1500m"}},
            [container("c", {"cpu": "0"}, {"cpu": "1"})],
            "cpu max limit to request ratio per Container is 1500m, but no request is specified or"
            " request is 0",
        ),
    ],
)
def test_pods_out_of_bounds_are_refused(
    limited: Space, limit: Object, containers: list[Object], message: str
) -> None:
    _limit(limited, limit)
    assert _refusal(limited, *containers) == message


def test_an_initial_container_counts_where_it_needs_more_than_the_others(limited: Space) -> None:
    _limit(limited, {"type": "Pod", "max": {"cpu": "2"}})
    small = container("c", limits={"cpu": "1"})
    assert _refusal(limited, small, initContainers=[container("i", limits={"cpu": "3"})]) == (
        "maximum cpu usage per Pod is 2, but limit is 3"
    )
    assert post_pod(limited, "q", small, initContainers=[small | {"name": "i"}]).status == 201


def test_initial_containers_stay_within_the_bounds_of_containers(limited: Space) -> None:
    _limit(limited, {"type": "Container", "max": {"cpu": "1"}})
    error = _refusal(limited, initContainers=[container("i", limits={"cpu": "3"})])
    assert error == "maximum cpu usage per Container is 1, but limit is 3"


def test_a_pod_at_the_bounds_is_let_through(limited: Space) -> None:
    bounds = {"min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2"}}
    _limit(limited, {"type": "Container", **bounds}, {"type": "Pod", **bounds})
    assert post_pod(limited, "p", container("c", {"cpu": "1"}, {"cpu": "2"})).status == 201


@pytest.mark.both_dialects
def test_pods_that_exist_are_not_held_against_new_ranges(limited: Space) -> None:
    assert post_pod(limited, "p").status == 201
    _limit(limited, {"type": "Container", "min": {"cpu": "1"}})
    assert limited.collection("pods").label("p", a="b")["spec"]["containers"][0]["resources"] == {}


def test_claims_stay_within_their_bounds(limited: Space) -> None:
    _limit(
        limited,
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}},
    )
    for storage, text in (
        ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
        ("3Gi", "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"),
    ):
        answer = post_claim(limited, "c", storage)
        assert answer.status == 403
        assert answer.message == f'persistentvolumeclaims "c" is forbidden: {text}'
    assert post_claim(limited, "c", "1Gi").status == 201


def test_claims_are_held_against_new_ranges_when_they_change(limited: Space) -> None:
    assert post_claim(limited, "c", "1Gi").status == 201
    _limit(limited, {"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}})
    change = {"metadata": {"labels": {"a": "b"}}}
    answer = limited.collection("persistentvolumeclaims").patch("c", change)
    assert answer.status == 403
    assert "but request is 1Gi" in answer.message


def test_a_claim_that_is_going_is_let_go(limited: Space) -> None:
    claims = limited.collection("persistentvolumeclaims")
    assert post_claim(limited, "c", "1Gi").status == 201
    assert claims.patch("c", {"metadata": {"finalizers": ["a.b/c"]}}).status == 200
    claims.remove("c")
    _limit(limited, {"type": "PersistentVolumeClaim", "max": {"storage": "500Mi"}})
    assert claims.patch("c", {"metadata": {"finalizers": []}}).status == 200


def test_a_range_is_of_its_namespace(limited: Space, any_server: object) -> None:
    _limit(limited, {"type": "Container", "min": {"cpu": "1"}})
    other = Space(limited.server, limited.client)
    other.ready_for_pods()
    assert post_pod(other, "p").status == 201


def _in_default(space: Space, *containers: Object) -> Object:
    space.name = "default"
    space.ready_for_pods()
    answer = post_pod(space, "unused", *containers, dry_run=True)
    assert answer.status == 201, answer.text
    document: Object = answer.body
    return document


def test_pods_of_the_default_namespace_request_a_tenth_of_a_processor(cluster: Space) -> None:
    value = _in_default(cluster, container("a"), container("b", {"cpu": "2"}))
    requests = [item["resources"]["requests"] for item in value["spec"]["containers"]]
    assert requests == [{"cpu": "100m"}, {"cpu": "2"}]
    assert value["metadata"]["annotations"] == {
        "cluster.io/limit-ranger": "LimitRanger plugin set: cpu request for container a"
    }


def test_that_default_gives_way_to_a_range(cluster: Space) -> None:
    ranges = cluster.collection("limitranges")
    ranges.path = ranges.path.replace(cluster.name, "default")
    ranges.create("l", spec={"limits": [{"type": "Container", "max": {"memory": GI}}]})
    try:
        value = _in_default(cluster)
        resources = value["spec"]["containers"][0]["resources"]
        assert resources == {"limits": {"memory": GI}, "requests": {"memory": GI}}
    finally:
        ranges.remove("l")


def test_the_other_dialect_has_no_such_default(kubernetes: Space) -> None:
    assert _in_default(kubernetes)["spec"]["containers"][0]["resources"] == {}
