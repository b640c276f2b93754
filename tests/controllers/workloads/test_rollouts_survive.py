"""A killed server resumes a rollout."""

from __future__ import annotations

import random

from support.namespaces import Space
from support.process import FreshServer, ServerProcess
from support.waiting import eventually
from support.workloads import Workloads, replicated

REPLICAS, DEATHS = 20, 2


def kill_and_restart(server: ServerProcess, work: Workloads) -> None:
    server.kill()
    server.start()
    work.reconnect(server.client())


def roll_until(work: Workloads, image: str, size: int) -> None:
    """Go on with a rollout until there are to be so many pods of an image."""

    def far_enough() -> bool:
        work.make_ready()
        return work.sizes().get(image, 0) >= size

    eventually(far_enough, f"{size} pods of {image}")


def test_a_rollout_survives_the_death_of_its_server(fresh_server: FreshServer) -> None:
    server = fresh_server()
    work = Workloads(Space(server, server.client()))
    work.create_deployment(REPLICAS)
    chance = random.Random(7)
    for number in range(DEATHS):
        work.set_image(f"image-{number}")
        roll_until(work, f"image-{number}", chance.randint(1, REPLICAS))
        kill_and_restart(server, work)
    work.finish()
    newest = f"image-{DEATHS - 1}"
    images = [pod["spec"]["containers"][0]["image"] for pod in work.living()]
    assert images == [newest] * REPLICAS
    assert {image for image, size in work.sizes().items() if size} == {newest}


def test_no_pod_is_made_twice_when_a_server_dies_while_it_makes_them(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    work = Workloads(Space(server, server.client()))
    work.replica_sets.create("r", spec=replicated(150))
    eventually(lambda: len(work.pods.names()) >= 10, "some pods")
    kill_and_restart(server, work)
    work.await_status(work.replica_sets, "r", replicas=150)
    assert len(work.pods.names()) == 150
