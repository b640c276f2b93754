"""Jobs with kubectl."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.jobs import Jobs
from support.kubectl import KUBECTL, Kubectl, compared
from support.namespaces import Space

pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed: not tried out")


@pytest.fixture
def work(kubernetes: Space) -> Jobs:
    return Jobs(kubernetes)


@pytest.fixture
def kubectl(kubernetes: Space, tmp_path: Path) -> Kubectl:
    return Kubectl(kubernetes.server, kubernetes.name, tmp_path)


def test_a_job_is_created_and_waited_for(work: Jobs, kubectl: Kubectl) -> None:
    kubectl("create", "job", "j", "--image=one", "--", "true")
    wait = ("wait", "job/j", "--for=condition=complete", "--timeout=30s")
    with kubectl.start(*wait) as process:
        work.succeed(work.running(1))
        message, _ = process.communicate(timeout=30)
    assert message.strip() == "job.batch/j condition met"
    row = kubectl("get", "job", "j", "--no-headers").split()
    assert "1/1" in row


@compared
def test_a_job_is_made_of_a_cron_job_by_hand(work: Jobs, kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "nightly", "--image=one", "--schedule=0 0 1 1 *")
    kubectl("create", "job", "now", "--from=cronjob/nightly")
    work.await_event("UnexpectedJob", "Saw a job that the controller did not create or forgot: now")
    work.succeed(work.running(1))
    assert work.await_end("now")["type"] == "Complete"
    work.await_status(
        work.cron_jobs,
        "nightly",
        lastSuccessfulTime=work.status(work.jobs, "now")["completionTime"],
    )
