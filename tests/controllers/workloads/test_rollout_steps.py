"""The numbers of a rollout."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.base.dialect import DIALECTS
from fairlead.controllers.workloads.deployments import progress, steps
from fairlead.controllers.workloads.deployments.annotations import Annotations
from fairlead.controllers.workloads.deployments.replica_sets import same_template
from fairlead.controllers.workloads.history import short_hash

Object = dict[str, Any]
NAMES = Annotations(DIALECTS["kubernetes"])


def deployment(replicas: int, surge: int | str, unavailable: int | str) -> Object:
    update = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": update}
    return {"metadata": {}, "spec": {"replicas": replicas, "strategy": strategy}, "status": {}}


def replica_set(name: str, size: int, available: int = 0, maximum: int = 0) -> Object:
    metadata: Object = {"name": name, "creationTimestamp": "2020-01-01T00:00:00Z"}
    if maximum:
        metadata["annotations"] = {NAMES.maximum: str(maximum)}
    status = {"availableReplicas": available}
    return {"metadata": metadata, "spec": {"replicas": size}, "status": status}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "maximum", "minimum"),
    [
        (10, "25%", "25%", 13, 8),  # up, and down
        (1, "25%", "25%", 2, 1),
        (3, "0%", "25%", 3, 2),  # nothing could move
        (3, 0, "1%", 3, 2),
        (2, 0, 5, 2, 0),  # no more than there are
        (0, "25%", "25%", 0, 0),
        (4, "100%", 0, 8, 4),
        (1, f"{'9' * 5000}%", 0, 1 + -(-(2**63) // 100), 1),
    ],
)
def test_rollout_bounds_of_surge_and_unavailable(
    replicas: int, surge: int | str, unavailable: int | str, maximum: int, minimum: int
) -> None:
    limits = steps.limits_of(deployment(replicas, surge, unavailable))
    assert (limits.maximum, limits.min_available) == (maximum, minimum)


def test_a_recreated_deployment_has_no_room() -> None:
    value = deployment(3, 1, 1)
    value["spec"]["strategy"] = {"type": "Recreate"}
    limits = steps.limits_of(value)
    assert (limits.maximum, limits.min_available) == (3, 3)
    assert steps.new_size(limits, [], 0) == 3


@pytest.mark.parametrize(
    ("old", "size", "result"), [(10, 0, 3), (13, 0, 0), (20, 2, 2), (5, 8, 8), (3, 8, 10)]
)
def test_new_replica_set_grows_into_the_room_there_is(old: int, size: int, result: int) -> None:
    limits = steps.limits_of(deployment(10, 3, 2))
    everything = [replica_set("old", old), replica_set("new", size)]
    assert steps.new_size(limits, everything, size) == result


def test_pods_that_are_not_available_are_taken_from_the_oldest() -> None:
    old = [replica_set("a", 5, 2), replica_set("b", 3, 3), replica_set("c", 4, 0)]
    assert steps.without_unhealthy(old, 5) == [2, 3, 2]


def test_rollout_scales_down_the_oldest_replica_sets_first() -> None:
    assert steps.scaled_down([2, 3, 2], 4) == [0, 1, 2]
    assert steps.scaled_down([2, 3], 0) == [2, 3]


@pytest.mark.parametrize(
    ("replicas", "sizes", "maximum", "shares"),
    [
        (15, (8, 5), 13, (11, 7)),  # from 10 to 15 with a surge of 3
        (5, (8, 5), 13, (5, 3)),
        (0, (8, 5), 13, (0, 0)),
        (10, (8, 5), 13, (8, 5)),
        (100, (1, 1), 0, (51, 52)),  # no annotation: its pods are counted
    ],
)
def test_a_new_size_is_shared_out(
    replicas: int, sizes: tuple[int, int], maximum: int, shares: tuple[int, int]
) -> None:
    everything = [
        replica_set(name, size, maximum=maximum) for name, size in zip("ab", sizes, strict=True)
    ]
    value = {**deployment(replicas, 3, 2), "status": {"replicas": sum(sizes)}}
    rows = steps.scale_proportionally(value, everything, NAMES)
    assert {item["metadata"]["name"]: size for item, size in rows} == dict(
        zip("ab", shares, strict=True)
    )


def template(**labels: str) -> Object:
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c"}]}}


def test_the_hash_label_tells_no_templates_apart() -> None:
    plain = template(app="a")
    assert same_template(plain, template(app="a", **{"pod-template-hash": "x"}))
    assert not same_template(plain, template(app="b"))


def test_template_comparison_takes_empty_for_absent() -> None:
    first = template(app="a")
    other = {**first, "spec": {**first["spec"], "volumes": [], "securityContext": {}, "x": None}}
    assert same_template(first, other)
    assert short_hash(first, None) == short_hash(other, None)


def test_a_collision_leads_to_another_hash() -> None:
    item = template(app="a")
    hashes = {short_hash(item, count) for count in (None, 0, 1, 2)}
    assert len(hashes) == 4


def revised(history: str, before: str, revision: int) -> Object:
    annotations = {NAMES.history: history, NAMES.revision: before}
    return NAMES.of_new({"metadata": {}}, annotations, revision)


def test_a_revision_that_is_left_becomes_history() -> None:
    assert revised("1,3", "5", 7) == {NAMES.history: "1,3,5", NAMES.revision: "7"}


def test_the_latest_revision_is_not_set_back() -> None:
    assert revised("1", "5", 5) == {NAMES.history: "1", NAMES.revision: "5"}


def test_a_long_history_loses_its_beginning() -> None:
    past = ",".join(str(number) for number in range(1000, 1400))
    history = revised(past, "5000", 5001)[NAMES.history]
    assert len(history) <= 2000
    assert history.endswith("1399,5000")


def test_a_history_of_any_length_is_cut_at_once() -> None:
    history = revised("1," * 10_000_000 + "2", "5000", 5001)[NAMES.history]
    assert history == "1," * 997 + "2,5000"
    assert revised("1" * 3000, "5000", 5001)[NAMES.history] == "5000"


def test_a_revision_that_is_no_number_is_left_alone() -> None:
    assert revised("", "x", 5)[NAMES.revision] == "x"
    assert NAMES.latest_revision([{"metadata": {"annotations": {NAMES.revision: "x"}}}]) == 0


@pytest.mark.parametrize(
    ("statuses", "terminating"),
    [
        ([], 0),
        ([{}], 0),  # a ReplicaSet that its controller has not seen yet
        ([{"observedGeneration": 1, "terminatingReplicas": 2}, {}], 2),
        ([{"observedGeneration": 1}], None),
    ],
)
def test_terminating_pods_of_a_deployment(
    statuses: list[dict[str, Any]], terminating: int | None
) -> None:
    owner = deployment(1, 0, 1)
    sets = [{"spec": {"replicas": 0}, "status": status} for status in statuses]
    status = progress.counted(owner, None, sets, with_terminating=True)
    assert status.get("terminatingReplicas") == terminating
    status = progress.counted(owner, None, sets, with_terminating=False)
    assert "terminatingReplicas" not in status
