"""CronJobs create Jobs on schedule. The clock is moved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from support.client import Object
from support.jobs import Jobs, job_spec
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess
from support.waiting import eventually

from fairlead.codec.types.times import parse_time

HOUR = 3600


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("moving")
    server = ServerProcess(directory, prelude=MOVABLE_CLOCK).start()
    yield server
    server.stop()


class CronJobs(Jobs):
    """The CronJobs of a namespace on a server whose clock can be moved."""

    def schedule(self, schedule: str = "* * * * *", name: str = "c", **spec: Any) -> Object:
        template = {"metadata": spec.pop("metadata", {}), "spec": job_spec(**spec.pop("job", {}))}
        return self.cron_jobs.create(
            name, spec={"schedule": schedule, "jobTemplate": template, **spec}
        )

    def await_jobs(self, count: int) -> list[str]:
        eventually(lambda: len(self.jobs.names()) == count, f"{count} jobs")
        return sorted(self.jobs.names())

    def advance(self, seconds: float) -> None:
        self.space.server.advance(seconds)

    def to_next(self, period: int = 60) -> None:
        """Move to just after the next full minute, or hour."""
        config_map = self.space.config_maps.create(f"at-{len(self.space.config_maps.names())}")
        moment = parse_time(config_map["metadata"]["creationTimestamp"]).timestamp()
        self.advance(period - moment % period + 1)

    def complete(self, name: str) -> None:
        """Let the pods of a Job succeed."""
        eventually(lambda: bool(self.names(labelSelector=f"job-name={name}")), "its pod")
        self.succeed(self.names(labelSelector=f"job-name={name}"))
        self.await_end(name)

    def active(self, name: str = "c") -> list[str]:
        return [item["name"] for item in self.status(self.cron_jobs, name).get("active", [])]


@pytest.fixture
def work(moving: ServerProcess) -> Iterator[CronJobs]:
    jobs = CronJobs(Space(moving, moving.client()))
    yield jobs
    jobs.cron_jobs.client.delete(jobs.cron_jobs.path)  # the clock is moved for others too


def test_a_job_is_made_when_its_time_has_come(work: CronJobs) -> None:
    value = work.schedule(metadata={"labels": {"a": "b"}, "annotations": {"x.example/y": "z"}})
    assert work.jobs.names() == []
    work.to_next()
    (name,) = work.await_jobs(1)
    job = work.jobs.read(name)
    eventually(lambda: work.active() == [name], "it is active")
    status = work.status(work.cron_jobs, "c")
    (active,) = status["active"]
    assert active.pop("resourceVersion")
    assert active == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "namespace": work.space.name,
        "uid": job["metadata"]["uid"],
    }
    moment = parse_time(status["lastScheduleTime"])
    assert moment.second == 0
    assert name == f"c-{int(moment.timestamp()) // 60}"
    metadata = job["metadata"]
    assert metadata["labels"] == {"a": "b"}
    assert metadata["annotations"]["x.example/y"] == "z"
    (reference,) = metadata["ownerReferences"]
    assert reference == {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "c",
        "uid": value["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    event = work.await_event("SuccessfulCreate", "Created job")
    assert event["message"] == f"Created job {name}"
    assert event["source"] == {"component": "cronjob-controller"}

    work.complete(name)
    text = f"Saw completed job: {name}, status: Complete"
    assert work.await_event("SawCompletedJob")["message"] == text
    done = work.status(work.jobs, name)["completionTime"]
    work.await_status(work.cron_jobs, "c", lastSuccessfulTime=done)
    eventually(lambda: not work.active(), "it is active no longer")


def test_the_other_dialect_makes_jobs_too(fresh_server: FreshServer) -> None:
    server = fresh_server(dialect="cluster", prelude=MOVABLE_CLOCK)
    work = CronJobs(Space(server, server.client()))
    work.schedule("@every 10s")
    work.advance(11)
    work.await_jobs(1)


def test_time_zones_count(work: CronJobs) -> None:
    work.schedule("0 0 * * *", "z", timeZone="Asia/Kathmandu")
    work.schedule("TZ=Asia/Kathmandu 0 0 * * *", "t")
    work.advance(24 * HOUR)
    work.await_jobs(2)

    def is_active(name: str) -> bool:
        return bool(work.active(name))

    for name in ("z", "t"):
        eventually(partial(is_active, name), "it is told")
        moment = parse_time(work.status(work.cron_jobs, name)["lastScheduleTime"])
        assert (moment.hour, moment.minute) == (18, 15)
    work.await_event("UnsupportedSchedule", "TZ=Asia/Kathmandu 0 0 * * *")


def test_jobs_run_side_by_side_if_they_may(work: CronJobs) -> None:
    work.schedule()
    for count in (1, 2):
        work.to_next()
        work.await_jobs(count)
    eventually(lambda: work.active() == sorted(work.jobs.names()), "both are active")


def test_a_forbidden_second_job_waits_for_the_first(work: CronJobs) -> None:
    work.schedule(concurrencyPolicy="Forbid")
    work.to_next()
    (first,) = work.await_jobs(1)
    work.to_next()
    text = "Not starting job because prior execution is running and concurrency policy is Forbid"
    assert work.await_event("JobAlreadyActive")["message"] == text
    assert work.jobs.names() == [first]
    work.complete(first)
    assert len(work.await_jobs(2)) == 2


def test_a_job_is_replaced_by_the_next(work: CronJobs) -> None:
    work.schedule(concurrencyPolicy="Replace")
    work.to_next()
    (first,) = work.await_jobs(1)
    work.to_next()
    assert work.await_event("SuccessfulDelete", "job ")["message"] == f"Deleted job {first}"
    (second,) = work.await_jobs(1)
    assert second > first
    eventually(lambda: work.active() == [second], "only the second is active")


def test_missed_runs_come_to_one(work: CronJobs) -> None:
    work.schedule()
    work.advance(200 * 60)
    work.await_jobs(1)
    event = work.await_event("TooManyMissedTimes")
    assert event["message"] in [
        f"too many missed start times: {count}. Set or decrease"
        " .spec.startingDeadlineSeconds or check clock skew"
        for count in (200, 201)
    ]
    work.to_next()
    work.await_jobs(2)


def test_a_run_is_not_started_after_its_deadline(work: CronJobs) -> None:
    work.to_next(HOUR)
    work.schedule("0 * * * *", startingDeadlineSeconds=600)
    work.advance(HOUR + 1200)
    event = work.await_event("MissSchedule")
    assert event["message"].startswith("Missed scheduled time to start a job: ")
    assert event["message"].endswith(":00:00 +0000")
    assert work.jobs.names() == []
    work.to_next(HOUR)
    work.await_jobs(1)


def test_a_suspended_one_makes_none_and_catches_up(work: CronJobs) -> None:
    work.schedule(suspend=True)
    work.to_next()
    work.schedule(name="other")
    work.to_next()
    eventually(lambda: bool(work.active("other")), "the other one runs")
    assert work.active("c") == []
    assert work.cron_jobs.patch("c", {"spec": {"suspend": False}}).status == 200
    eventually(lambda: bool(work.active("c")), "it runs now")


def test_only_so_many_ended_jobs_are_kept(work: CronJobs) -> None:
    work.schedule(successfulJobsHistoryLimit=2, job={"backoffLimit": 0})
    ended: list[str] = []

    def has_pods(job: str) -> bool:
        return bool(work.names(labelSelector=f"job-name={job}"))

    for turn in range(5):
        work.to_next()
        eventually(lambda: bool(work.active()), "a job runs")
        (name,) = work.active()
        eventually(partial(has_pods, name), "a pod")
        pods = work.names(labelSelector=f"job-name={name}")
        (work.fail if turn in (1, 2) else work.succeed)(pods)
        work.await_end(name)
        eventually(lambda: not work.active(), "it has ended")
        ended.append(name)
    assert work.await_jobs(3) == [ended[2], ended[3], ended[4]]


def test_a_job_that_went_missing_is_forgotten(work: CronJobs) -> None:
    work.schedule(concurrencyPolicy="Forbid")
    work.to_next()
    (name,) = work.await_jobs(1)
    eventually(lambda: bool(work.active()), "it is active")
    work.jobs.delete(name, propagationPolicy="Background")
    assert work.await_event("MissingJob")["message"] == f"Active job went missing: {name}"
    eventually(lambda: not work.active(), "it is active no longer")


def test_a_job_that_was_made_before_is_not_made_again(work: CronJobs) -> None:
    """As after a crash between creating a Job and recording it."""
    work.schedule()
    work.to_next()
    (name,) = work.await_jobs(1)
    eventually(lambda: bool(work.active()), "it is active")
    path = work.cron_jobs.item("c", "status")
    patch = {"status": {"active": None, "lastScheduleTime": None}}
    assert work.space.client.patch(path, patch).status == 200
    eventually(lambda: work.active() == [name], "it is active again")
    assert "lastScheduleTime" in work.status(work.cron_jobs, "c")
    assert work.jobs.names() == [name]


def test_a_schedule_that_never_comes_round_is_told(work: CronJobs) -> None:
    work.schedule("0 0 31 2 *")
    text = "invalid schedule: 0 0 31 2 * : time difference between two schedules less than 1 second"
    assert work.await_event("InvalidSchedule")["message"] == text


def test_a_refused_job_is_told(work: CronJobs) -> None:
    quotas = work.space.collection("resourcequotas")
    quotas.create("q", spec={"hard": {"count/jobs.batch": "0"}})
    eventually(lambda: "hard" in quotas.read("q").get("status", {}), "the quota counts")
    work.schedule()
    work.to_next()
    event = work.await_event("FailedCreate")
    assert event["message"].startswith('Error creating job: jobs.batch "c-')
    quotas.remove("q")
    work.await_jobs(1)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_no_last_run_is_too_strange(work: CronJobs, moment: str) -> None:
    work.schedule("TZ=America/New_York * * * * *")
    path = work.cron_jobs.item("c", "status")
    assert work.space.client.patch(path, {"status": {"lastScheduleTime": moment}}).status == 200
    work.schedule(name="other")
    work.to_next()
    eventually(lambda: bool(work.active("other")), "the other one runs")
    expected = moment < "2000"
    eventually(lambda: bool(work.active("c")) == expected, "the strange one does as it should")
