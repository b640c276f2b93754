"""Jobs run pods until enough of them have succeeded."""

from __future__ import annotations

from time import sleep

import pytest
from support.jobs import Jobs, exited, job_spec
from support.namespaces import Space
from support.waiting import eventually

from fairlead.codec.types.times import now


@pytest.fixture
def work(kubernetes: Space) -> Jobs:
    return Jobs(kubernetes)


@pytest.mark.both_dialects
def test_a_job_makes_a_pod_and_completes_with_it(space: Space) -> None:
    work = Jobs(space)
    job = work.create()
    (name,) = work.running(1)
    work.await_status(work.jobs, "j", active=1)
    pod = work.pods.read(name)
    metadata = pod["metadata"]
    assert metadata["generateName"] == "j-"
    assert metadata["finalizers"] == [space.dialect.label("batch.@/job-tracking")]
    assert metadata["labels"] == {"controller-uid": job["metadata"]["uid"], "job-name": "j"}
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "j",
            "uid": job["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    status = work.status(work.jobs, "j")
    assert status.pop("startTime") >= job["metadata"]["creationTimestamp"]
    assert status == {"active": 1, "ready": 0, "uncountedTerminatedPods": {}}

    work.make_ready([name])
    work.await_status(work.jobs, "j", ready=1)
    work.succeed([name])
    reported = work.await_end()
    assert set(reported) == {"type", "status", "lastProbeTime", "lastTransitionTime"}
    assert (reported["type"], reported["status"]) == ("Complete", "True")
    status = work.status(work.jobs, "j")
    assert status["completionTime"] == reported["lastTransitionTime"]
    assert (status["succeeded"], status["ready"]) == (1, 0)
    assert status["uncountedTerminatedPods"] == {}
    assert not {"active", "failed"} & set(status)
    assert "finalizers" not in work.pods.read(name)["metadata"]
    assert work.await_event("SuccessfulCreate")["message"] == f"Created pod: {name}"
    event = work.await_event("Completed")
    assert (event["message"], event["type"]) == ("Job completed", "Normal")
    assert event["source"] == {"component": "job-controller"}


def test_only_as_many_pods_run_as_may_and_are_needed(work: Jobs) -> None:
    work.create(completions=3, parallelism=2)
    work.succeed(work.running(2)[:1])
    work.await_counts(2, 1, 0)
    work.succeed(work.running(2)[:1])
    work.await_counts(1, 2, 0)
    work.succeed(work.running(1))
    assert work.await_end()["type"] == "Complete"
    assert work.counts() == {"active": 0, "succeeded": 3, "failed": 0}


def test_without_completions_one_success_ends_the_making_of_pods(work: Jobs) -> None:
    work.create(parallelism=3)
    names = work.running(3)
    work.succeed(names[:1])
    work.await_counts(2, 1, 0)
    work.fail(names[1:2])
    work.await_counts(1, 1, 1)
    work.succeed(names[2:])
    assert work.await_end()["type"] == "Complete"
    assert work.counts() == {"active": 0, "succeeded": 2, "failed": 1}


def test_nothing_to_complete_is_complete(work: Jobs) -> None:
    work.create(completions=0)
    assert work.await_end()["type"] == "Complete"
    assert work.pods.names() == []


def test_a_failed_pod_is_made_again_until_the_limit(work: Jobs) -> None:
    work.create(backoffLimit=1)
    work.fail(work.running(1))
    work.await_counts(1, 0, 1)
    work.fail(work.running(1))
    job = work.await_end()
    assert (job["type"], job["reason"], job["message"]) == (
        "Failed",
        "BackoffLimitExceeded",
        "Job has reached the specified backoff limit",
    )
    assert work.counts() == {"active": 0, "succeeded": 0, "failed": 2}
    assert "completionTime" not in work.status(work.jobs, "j")
    event = work.await_event("BackoffLimitExceeded")
    assert (event["type"], event["message"]) == ("Warning", job["message"])
    work.await_untracked()


def test_a_limit_that_is_lowered_counts_when_the_next_pod_fails(work: Jobs) -> None:
    work.create(backoffLimit=5)
    work.fail(work.running(1))
    work.await_counts(1, 0, 1)
    (name,) = work.running(1)
    work.revise_job(backoffLimit=0)
    work.make_ready([name])
    work.await_status(work.jobs, "j", ready=1)
    assert "conditions" not in work.status(work.jobs, "j")
    work.fail([name])
    assert work.await_end()["reason"] == "BackoffLimitExceeded"


def test_the_pods_that_run_end_with_a_job_that_fails(work: Jobs) -> None:
    work.create(parallelism=3, completions=3, backoffLimit=0)
    names = work.running(3)
    work.fail(names[:1])
    work.await_end()
    assert work.counts() == {"active": 0, "succeeded": 0, "failed": 3}
    work.running(0)
    assert work.await_event("SuccessfulDelete")["message"].startswith("Deleted pod: j-")


def test_restarts_count_where_pods_are_restarted(work: Jobs) -> None:
    pod = {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "one"}]}
    work.create(backoffLimit=3, template={"spec": pod})
    names = work.running(1)
    status = {**exited(1)[0], "state": {"running": {}}}
    work.set_status(names, phase="Running", containerStatuses=[{**status, "restartCount": 2}])
    work.await_status(work.jobs, "j", active=1)
    work.set_status(names, phase="Running", containerStatuses=[{**status, "restartCount": 3}])
    assert work.await_end()["reason"] == "BackoffLimitExceeded"


def test_a_pod_that_was_deleted_counts_as_failed(work: Jobs) -> None:
    work.create()
    (name,) = work.running(1)
    work.pods.delete(name)
    work.await_counts(1, 0, 1)
    assert name not in work.pods.names()


def test_a_pod_that_just_failed_is_not_made_again_at_once(work: Jobs) -> None:
    work.create()
    names = work.running(1)
    work.set_status(names, phase="Failed", containerStatuses=exited(1, now()))
    work.await_counts(0, 0, 1)
    work.await_untracked()
    assert len(work.pods.names()) == 1


def test_fewer_pods_run_when_fewer_may(work: Jobs) -> None:
    work.create(parallelism=4, completions=10, backoffLimit=1)
    work.running(4)
    work.revise_job(parallelism=1)
    work.running(1)
    work.await_counts(1, 0, 0)
    work.await_untracked_but(1)
    work.revise_job(parallelism=3)
    work.running(3)
    work.await_counts(3, 0, 0)


def test_a_suspended_job_has_no_pods(work: Jobs) -> None:
    work.create(suspend=True, parallelism=2, completions=2)
    condition = work.await_condition(work.jobs, "j", "Suspended", "JobSuspended")
    assert (condition["status"], condition["message"]) == ("True", "Job suspended")
    assert "startTime" not in work.status(work.jobs, "j")
    assert work.await_event("Suspended")["message"] == "Job suspended"
    assert work.pods.names() == []

    work.revise_job(suspend=False)
    condition = work.await_condition(work.jobs, "j", "Suspended", "JobResumed")
    assert (condition["status"], condition["message"]) == ("False", "Job resumed")
    assert work.await_event("Resumed")["message"] == "Job resumed"
    assert "startTime" in work.status(work.jobs, "j")
    work.running(2)

    work.revise_job(suspend=True)
    work.running(0)
    work.await_counts(0, 0, 0)
    work.await_untracked()


def test_a_job_that_never_was_suspended_says_nothing_of_it(work: Jobs) -> None:
    work.create()
    work.running(1)
    assert not work.condition(work.jobs, "j", "Suspended")


MINE = {"mine": "1"}


def create_selecting(work: Jobs) -> None:
    """Create a Job that selects pods of another creator."""
    template = {"metadata": {"labels": MINE}, "spec": job_spec()["template"]["spec"]}
    work.create(manualSelector=True, selector={"matchLabels": MINE}, template=template)


def test_a_job_adopts_pods_and_counts_them(work: Jobs) -> None:
    work.pods.create("stray", labels=MINE, spec=job_spec()["template"]["spec"])
    create_selecting(work)
    eventually(lambda: work.tracked() == ["stray"], "the pod is taken")
    (reference,) = work.pods.read("stray")["metadata"]["ownerReferences"]
    assert (reference["kind"], reference["controller"]) == ("Job", True)
    work.await_counts(1, 0, 0)
    work.succeed(["stray"])
    assert work.await_end()["type"] == "Complete"
    assert work.pods.names() == ["stray"]


def test_more_successes_than_wanted_are_told(work: Jobs) -> None:
    for name in ("one", "two"):
        work.pods.create(name, labels=MINE, spec=job_spec()["template"]["spec"])
        work.succeed([name])
    create_selecting(work)
    assert work.await_end()["type"] == "Complete"
    work.await_counts(0, 2, 0)
    text = "Too many succeeded pods running after completion count reached"
    assert work.await_event("TooManySucceededPods")["message"] == text


def test_a_pod_that_is_no_longer_selected_is_let_go(work: Jobs) -> None:
    work.create()
    (name,) = work.running(1)
    work.pods.label(name, other="1")
    work.running(2)
    metadata = work.pods.read(name)["metadata"]
    assert not {"ownerReferences", "finalizers"} & set(metadata)


def test_pods_whose_job_is_gone_are_not_held(work: Jobs) -> None:
    work.create(parallelism=2, completions=2)
    work.running(2)
    assert work.jobs.delete("j", propagationPolicy="Background").status == 200
    work.await_untracked()


def test_a_finalizer_that_nobody_takes_away_is_removed(work: Jobs) -> None:
    spec = job_spec()["template"]["spec"]
    work.pods.create("lone", metadata={"finalizers": [work.tracking, "a.example/b"]}, spec=spec)
    eventually(
        lambda: work.pods.read("lone")["metadata"].get("finalizers") == ["a.example/b"], "removed"
    )


def test_a_pod_that_is_taken_back_at_once_is_tracked(work: Jobs) -> None:
    work.create(parallelism=8, completions=8)
    names = work.running(8)
    for name in names:
        work.pods.patch(name, {"metadata": {"ownerReferences": None}})
    eventually(lambda: len(work.tracked()) == 8, "all are tracked")
    sleep(0.3)  # for who would let them go
    assert len(work.tracked()) == 8


def test_a_status_that_somebody_wrote_does_not_stop_a_job(work: Jobs) -> None:
    work.create(completions=2)
    work.running(1)
    uids = {"succeeded": ["gone-1"], "failed": ["gone-2"]}
    answer = work.space.client.patch(
        work.jobs.item("j", "status"), {"status": {"uncountedTerminatedPods": uids}}
    )
    assert answer.status == 200
    work.await_counts(1, 1, 1)
    work.succeed(work.running(1))
    assert work.await_end()["type"] == "Complete"


def test_refused_pods_are_told_and_tried_again(work: Jobs) -> None:
    quotas = work.space.collection("resourcequotas")
    quotas.create("q", spec={"hard": {"pods": "0"}})
    eventually(lambda: "hard" in quotas.read("q").get("status", {}), "the quota counts")
    work.create()
    event = work.await_event("FailedCreate")
    assert event["message"].startswith('Error creating: pods "j-')
    assert work.counts() == {"active": 0, "succeeded": 0, "failed": 0}
    quotas.remove("q")
    work.running(1)


def test_many_pods_are_counted_one_by_one_and_all(work: Jobs) -> None:
    work.create(completions=60, parallelism=30)
    done = 0
    while done < 60:
        names = work.running(min(30, 60 - done))
        work.succeed(names)
        done += len(names)
        work.await_status(work.jobs, "j", succeeded=done)
    assert work.await_end()["type"] == "Complete"
    assert len(work.pods.names()) == 60
