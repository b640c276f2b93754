"""Jobs: deadlines, TTLs and feature gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.client import Object
from support.jobs import Jobs, exited
from support.namespaces import Space
from support.process import MOVABLE_CLOCK, FreshServer, ServerProcess

from fairlead.codec.types.times import format_time, parse_time


def now_at(work: Jobs) -> str:
    """Return the time of the server's clock."""
    config_map = work.space.config_maps.create(f"now-{len(work.space.config_maps.names())}")
    text: str = config_map["metadata"]["creationTimestamp"]
    return text


def fail_now(work: Jobs, names: list[str]) -> None:
    work.set_status(names, phase="Failed", containerStatuses=exited(1, now_at(work)))


def test_jobs_go_by_the_clock(fresh_server: FreshServer) -> None:
    server = fresh_server(prelude=MOVABLE_CLOCK)
    pausing, late = (Jobs(Space(server, server.client())) for _ in range(2))
    late.create(activeDeadlineSeconds=3600, parallelism=2, completions=5)
    late.succeed(late.running(2)[:1])
    late.await_counts(2, 1, 0)
    pausing.create(backoffLimit=20)
    check_pauses(pausing, server)

    server.advance(3600)
    job = late.await_end()
    assert (job["type"], job["reason"], job["message"]) == (
        "Failed",
        "DeadlineExceeded",
        "Job was active longer than specified deadline",
    )
    assert late.counts() == {"active": 0, "succeeded": 1, "failed": 2}
    check_resumed(late, server)


def check_pauses(work: Jobs, server: ServerProcess) -> None:
    """Pods are created again after 10 s, 20 s and so on, and 10 s after a success."""
    for failed, pause in enumerate((10, 20, 40, 80, 160, 320, 360, 360), 1):
        fail_now(work, work.running(1))
        work.await_counts(0, 0, failed)
        server.advance(pause - 5)
        work.space.config_maps.create(f"later-{failed}")
        work.running(0)
        server.advance(6)
        work.await_counts(1, 0, failed)


def check_resumed(work: Jobs, server: ServerProcess) -> None:
    """The deadline of a Job that was suspended begins when it is resumed."""
    work.create("s", activeDeadlineSeconds=100, suspend=True)
    work.await_condition(work.jobs, "s", "Suspended", "JobSuspended")
    for _ in range(2):
        server.advance(200)
        work.revise_job("s", suspend=False)
        work.await_status(work.jobs, "s", active=1)
        work.revise_job("s", suspend=True)
        work.await_condition(work.jobs, "s", "Suspended", "JobSuspended")
    server.advance(200)
    work.revise_job("s", suspend=False)
    work.await_status(work.jobs, "s", active=1)
    started = parse_time(work.status(work.jobs, "s")["startTime"])
    assert format_time(started) >= work.condition(work.jobs, "s", "Suspended")["lastTransitionTime"]
    server.advance(50)
    now_at(work)
    assert not work.condition(work.jobs, "s", "Failed")
    server.advance(51)
    assert work.await_end("s")["reason"] == "DeadlineExceeded"


Rules = list[Object]


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Rules], Jobs]]:
    server = ServerProcess(
        tmp_path_factory.mktemp("policies"), flags=("--feature-gates=JobPodFailurePolicy=true",)
    ).start()

    def make(rules: Rules) -> Jobs:
        work = Jobs(Space(server, server.client()))
        work.create(parallelism=2, completions=2, backoffLimit=1, podFailurePolicy={"rules": rules})
        return work

    yield make
    server.stop()


def codes(action: str, operator: str, *values: int, container: str | None = None) -> Object:
    wanted: Object = {"operator": operator, "values": list(values)}
    if container is not None:
        wanted["containerName"] = container
    return {"action": action, "onExitCodes": wanted}


def test_an_exit_code_may_fail_the_job(policies: Callable[[Rules], Jobs]) -> None:
    work = policies([codes("Count", "In", 3), codes("FailJob", "In", 40, 42)])
    names = work.running(2)
    work.fail(names[:1], code=42)
    job = work.await_end()
    where = f"{work.space.name}/{names[0]}"
    assert (job["type"], job["reason"], job["message"]) == (
        "Failed",
        "PodFailurePolicy",
        f"Container c for pod {where} failed with exit code 42 matching FailJob rule at index 1",
    )
    target = work.condition(work.jobs, "j", "FailureTarget")
    assert (target["status"], target["message"]) == ("True", job["message"])
    assert work.counts() == {"active": 0, "succeeded": 0, "failed": 2}
    work.await_event("PodFailurePolicy")


def test_a_failure_may_be_ignored(policies: Callable[[Rules], Jobs]) -> None:
    conditions = [{"type": "DisruptionTarget", "status": "True"}]
    work = policies([{"action": "Ignore", "onPodConditions": conditions}])
    for _ in range(3):
        names = work.running(2)
        work.set_status(
            names[:1], phase="Failed", conditions=conditions, containerStatuses=exited(1)
        )
    work.running(2)
    work.await_counts(2, 0, 0)
    work.await_untracked_but(2)


def test_the_first_rule_that_fits_counts(policies: Callable[[Rules], Jobs]) -> None:
    rules = [codes("FailJob", "NotIn", 5, 6), codes("Ignore", "In", 5)]
    work = policies(rules)
    work.fail(work.running(2)[:1], code=5)
    work.await_counts(2, 0, 0)
    work.fail(work.running(2)[:1], code=6)
    work.await_counts(2, 0, 1)
    work.fail(work.running(2)[:1], code=7)
    assert work.await_end()["reason"] == "PodFailurePolicy"


def test_a_condition_may_fail_the_job(policies: Callable[[Rules], Jobs]) -> None:
    conditions = [{"type": "ConfigIssue", "status": "True"}]
    work = policies([{"action": "FailJob", "onPodConditions": conditions}])
    (name, _) = work.running(2)
    work.set_status([name], phase="Failed", conditions=conditions)
    what = (
        f"Pod {work.space.name}/{name} has condition ConfigIssue matching FailJob rule at index 0"
    )
    assert work.await_end()["message"] == what


def test_without_the_gates_pods_are_counted_as_they_are(fresh_server: FreshServer) -> None:
    gates = "JobTrackingWithFinalizers=false,JobReadyPods=false"
    server = fresh_server(f"--feature-gates={gates}")
    work = Jobs(Space(server, server.client()))
    work.create(parallelism=2, completions=2, backoffLimit=1)
    names = work.running(2)
    assert work.tracked() == []
    work.fail(names[:1])
    work.await_counts(2, 0, 1)
    work.succeed(work.running(2)[:1])
    work.await_counts(1, 1, 1)
    assert not {"ready", "uncountedTerminatedPods"} & set(work.status(work.jobs, "j"))
    work.fail(work.running(1))
    assert work.await_end()["reason"] == "BackoffLimitExceeded"
    assert work.counts() == {"active": 0, "succeeded": 1, "failed": 2}
