"""A killed server counts every pod of a Job exactly once."""

from __future__ import annotations

import contextlib
import random
import threading
from http.client import HTTPException

from support.client import Client
from support.jobs import Jobs
from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.waiting import eventually

COMPLETIONS, DEATHS = 60, 3


def kill_and_restart(server: ServerProcess, work: Jobs) -> None:
    server.kill()
    server.start()
    client: Client = server.client()
    work.space.client = client
    for item in (work.pods, work.jobs, work.cron_jobs, work.events):
        item.client = client


def end_some(work: Jobs, chance: random.Random) -> None:
    """Let the pods that run come to an end, most of them well."""
    for pod in work.living():
        if pod["status"].get("phase") == "Pending":
            end = work.fail if chance.random() < 0.2 else work.succeed
            end([pod["metadata"]["name"]])


def phases(work: Jobs) -> list[str]:
    return [pod["status"]["phase"] for pod in work.pods.list().body["items"]]


def test_no_pod_is_counted_twice(fresh_server: FreshServer) -> None:
    server, chance = fresh_server(), random.Random(5)
    work = Jobs(Space(server, server.client()))
    work.create("plain", completions=COMPLETIONS, parallelism=20, backoffLimit=1000)
    for _ in range(DEATHS):
        eventually(lambda: "Pending" in phases(work), "pods run")
        death = threading.Timer(chance.uniform(0.01, 0.1), server.signal, (9,))
        death.start()
        with contextlib.suppress(OSError, HTTPException):  # it died
            end_some(work, chance)
        death.join()
        kill_and_restart(server, work)

    def complete() -> bool:
        end_some(work, chance)
        return bool(work.condition(work.jobs, "plain", "Complete"))

    eventually(complete, "the end", 60)
    counts, ended = work.counts("plain"), phases(work)
    assert counts["succeeded"] == ended.count("Succeeded")
    assert counts["failed"] == ended.count("Failed")
    assert counts["succeeded"] >= COMPLETIONS
    assert work.tracked() == []
