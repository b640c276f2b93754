"""Indexed Jobs: every index is completed once."""

from __future__ import annotations

import pytest
from support.client import Object
from support.jobs import Jobs, job_spec
from support.namespaces import Space
from support.waiting import eventually

from fairlead.controllers.workloads.jobs.progress import Indexes

INDEXED = "Indexed"


@pytest.fixture
def work(kubernetes: Space) -> Jobs:
    return Jobs(kubernetes)


def annotation(space: Space) -> str:
    return space.dialect.label("batch.@/job-completion-index")


def by_index(work: Jobs, count: int) -> dict[int, str]:
    """The running pods by their index, once there are so many."""
    names, key = work.running(count), annotation(work.space)
    return {int(work.pods.read(name)["metadata"]["annotations"][key]): name for name in names}


def test_pods_know_their_index(space: Space) -> None:
    work, key = Jobs(space), annotation(space)
    containers: list[Object] = [
        {"name": "c", "image": "one"},
        {"name": "own", "image": "one", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "x"}]},
    ]
    pod = {
        "restartPolicy": "Never",
        "containers": containers,
        "initContainers": [{"name": "first", "image": "one", "env": [{"name": "A", "value": "b"}]}],
    }
    work.create(completions=2, parallelism=2, completionMode=INDEXED, template={"spec": pod})
    names = by_index(work, 2)
    assert set(names) == {0, 1}
    stored = work.pods.read(names[1])
    assert stored["metadata"]["generateName"] == "j-1-"
    assert stored["metadata"]["annotations"] == {key: "1"}
    assert stored["spec"]["hostname"] == "j-1"
    source = {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{key}']"}
    value = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": source}}
    first, own = stored["spec"]["containers"]
    assert first["env"] == [value]
    assert own["env"] == containers[1]["env"]
    assert stored["spec"]["initContainers"][0]["env"] == [{"name": "A", "value": "b"}, value]


def test_long_names_leave_room_for_the_index(work: Jobs) -> None:
    name = "n" * 61
    work.create(name, completions=1, completionMode=INDEXED)
    (pod,) = by_index(work, 1).values()
    assert work.pods.read(pod)["metadata"]["generateName"] == "n" * 55 + "-0-"


def test_completed_indexes_are_told(work: Jobs) -> None:
    work.create(completions=7, parallelism=7, completionMode=INDEXED)
    names = by_index(work, 7)
    work.succeed(names[index] for index in (0, 2, 3, 4, 6))
    work.await_counts(2, 5, 0)
    assert work.status(work.jobs, "j")["completedIndexes"] == "0,2-4,6"
    work.fail([names[1]])
    work.await_counts(2, 5, 1)
    again = by_index(work, 2)
    assert set(again) == {1, 5}
    work.succeed(again.values())
    assert work.await_end()["type"] == "Complete"
    status = work.status(work.jobs, "j")
    assert (status["completedIndexes"], status["succeeded"]) == ("0-6", 7)
    assert status["uncountedTerminatedPods"] == {}


def test_the_first_missing_indexes_are_made(work: Jobs) -> None:
    work.create(completions=5, parallelism=2, completionMode=INDEXED)
    names = by_index(work, 2)
    assert set(names) == {0, 1}
    work.succeed([names[1]])
    work.await_counts(2, 1, 0)
    assert set(by_index(work, 2)) == {0, 2}


def indexed_pod(work: Jobs, name: str, index: str, owner: Object) -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
    metadata = {
        "annotations": {annotation(work.space): index},
        "finalizers": [work.tracking],
        "ownerReferences": [{**reference, "uid": owner["metadata"]["uid"]}],
    }
    labels = owner["spec"]["template"]["metadata"]["labels"]
    spec = job_spec()["template"]["spec"]
    work.pods.create(name, labels=labels, metadata=metadata, spec=spec)


def test_pods_without_a_place_are_removed_and_do_not_count(work: Jobs) -> None:
    job = work.create(completions=2, parallelism=2, completionMode=INDEXED)
    work.running(2)
    for name, index in (("double", "0"), ("beyond", "2"), ("none", "x"), ("huge", "9" * 5000)):
        indexed_pod(work, name, index, job)
    eventually(lambda: len(work.living()) == 2, "two are left")
    assert sorted(by_index(work, 2)) == [0, 1]
    work.await_counts(2, 0, 0)


def test_a_success_without_a_place_does_not_count(work: Jobs) -> None:
    job = work.create(completions=1, completionMode=INDEXED, suspend=True)
    work.await_condition(work.jobs, "j", "Suspended", "JobSuspended")
    indexed_pod(work, "beyond", "1", job)
    work.succeed(["beyond"])
    work.await_untracked()
    assert work.counts() == {"active": 0, "succeeded": 0, "failed": 0}


@pytest.mark.parametrize(
    ("text", "limit", "numbers", "written"),
    [
        ("", 5, [], ""),
        ("1", 5, [1], "1"),
        ("0,2-4,7", 10, [0, 2, 3, 4, 7], "0,2-4,7"),
        ("0,1", 5, [0, 1], "0,1"),
        ("3,1-2", 5, [1, 2, 3], "1-3"),
        ("0-99999999999,1", 5, [1], "1"),
        ("0-9", 3, [0, 1, 2], "0-2"),
        ("4-2,x,-1,1-,--,²", 5, [], ""),
    ],
)
def test_indexes_are_read_and_written(
    text: str, limit: int, numbers: list[int], written: str
) -> None:
    indexes = Indexes.parse(text, limit)
    assert [number for number in range(12) if number in indexes] == numbers
    assert (str(indexes), len(indexes)) == (written, len(numbers))


def test_missing_indexes_are_found_in_order() -> None:
    indexes = Indexes.parse("0,3-4", 10).joined([6, 1])
    assert str(indexes) == "0,1,3,4,6"
    assert indexes.first_missing(3, 10) == [2, 5, 7]
    assert indexes.first_missing(9, 6) == [2, 5]
