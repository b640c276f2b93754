"""Parts of the simulation that can be tested alone."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fairlead.controllers.simulation.addresses import AddressPool, node_address, pod_network
from fairlead.controllers.simulation.agent.images import full_name, image_id, pull_attempt
from fairlead.controllers.simulation.behaviour import pod_behaviour
from fairlead.process.flags.simulation import MAX_NODES

PREFIX = "simulation.fairlead/"


def test_nodes_and_their_networks_do_not_overlap() -> None:
    networks = [pod_network(number) for number in (0, 1, 255, 256, MAX_NODES - 1)]
    for first, other in pairwise(networks):
        assert not first.overlaps(other)
    assert len({node_address(number) for number in range(MAX_NODES)}) == MAX_NODES


def test_a_pod_keeps_its_address_and_gives_it_back() -> None:
    pool = AddressPool(pod_network(0))
    first = pool.take("a")
    assert pool.take("a") == first
    assert pool.take("b") != first
    pool.give_back("a")
    assert pool.take("c") != first, "one that was just given back rests"


def test_addresses_come_to_an_end_and_are_used_again() -> None:
    pool = AddressPool(pod_network(0))
    taken = {pool.take(str(number)) for number in range(253)}
    assert len(taken) == 253
    assert pool.take("more") is None
    assert not pool.has_room_for("more")
    assert pool.has_room_for("7")
    pool.give_back("7")
    assert pool.has_room_for("more")
    assert pool.take("more") in taken


def test_addresses_that_pods_have_are_not_given_away() -> None:
    pool = AddressPool(pod_network(0))
    pool.hold("a", "10.64.0.2")
    pool.hold("b", "10.64.0.2")
    pool.hold("c", "192.168.0.1")
    pool.hold("d", "fd00::1")
    assert pool.take("a") == "10.64.0.2"
    assert pool.take("b") == "10.64.0.3"
    assert pool.take("c") == "10.64.0.4"


@pytest.mark.parametrize(
    ("image", "whole"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.25", "docker.io/library/nginx:1.25"),
        ("team/app", "docker.io/team/app:latest"),
        ("localhost/app:2", "localhost/app:2"),
        ("registry.example.com:5000/app", "registry.example.com:5000/app:latest"),
        ("quay.io/a/b@sha256:00", "quay.io/a/b@sha256:00"),
    ],
)
def test_images_have_whole_names(image: str, whole: str) -> None:
    assert full_name(image) == whole
    assert image_id(image).startswith(whole.partition("@")[0].rpartition(":")[0] or whole)


@pytest.mark.parametrize(
    ("elapsed", "failed", "changes_in"),
    [(0, True, 2), (3, False, 7), (10, True, 2), (15, False, 15), (30, True, 2), (69, False, 1)],
)
def test_pulls_are_tried_at_growing_distances(
    elapsed: float, failed: bool, changes_in: float
) -> None:
    assert pull_attempt(elapsed) == (failed, changes_in)


def test_pulls_are_tried_every_five_minutes_in_the_end() -> None:
    year = 365 * 24 * 3600
    attempts = [moment for moment in range(year, year + 900) if pull_attempt(moment) == (True, 2)]
    assert len(attempts) == 3
    assert attempts[1] - attempts[0] == 300


def test_a_setting_for_one_container_comes_before_that_for_all() -> None:
    behaviour = pod_behaviour(
        {f"{PREFIX}exit-code": "1", f"{PREFIX}exit-code.side": "2", "x/y": "z"}
    )
    assert behaviour.of("main").exit_code == 1
    assert behaviour.of("side").exit_code == 2
    assert not behaviour.problems


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("exit-code", "256"),
        ("exit-code", "-1"),
        ("exit-code", "²"),
        ("exit-after", "5"),
        ("exit-after", "-5s"),
        ("start-delay", "999999999h"),
        ("never-ready", "yes"),
        ("colour", "red"),
    ],
)
def test_what_cannot_be_read_is_a_problem_and_nothing_else(name: str, text: str) -> None:
    behaviour = pod_behaviour({PREFIX + name: text})
    assert behaviour.of("c") == pod_behaviour(None).of("c")
    (problem,) = behaviour.problems
    assert problem.startswith(f"{PREFIX}{name}: ")
