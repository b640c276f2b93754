"""What a decision may cost, with 1,000 bindings and 200 roles."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

import pytest
from authorization_support import World, ask, rule, user

WARM, COLD = 5e-6, 300e-6
VERBS = ("get list watch", "create update patch", "delete deletecollection")


def best(call: Callable[[], object], times: int, rounds: int = 7) -> float:
    """Seconds a call takes when nothing else is in the way."""
    found = []
    for _ in range(rounds):
        started = perf_counter()
        for _ in range(times):
            call()
        found.append((perf_counter() - started) / times)
    return min(found)


def filled(spread: bool) -> World:
    world = World()
    for number in range(200):
        rules = [
            rule(
                "core apps batch",
                f"x{number}-{part} x{number}-{part}/status y{part}",
                VERBS[part % 3],
            )
            for part in range(10)
        ]
        world.role(f"role-{number}", *rules)
    for number in range(1000):
        namespace = f"ns{number % 20}" if spread and number % 2 else ""
        subjects = [f"user:u{number % 300}", f"group:g{number % 50}"] if spread else ["group:all"]
        role = f"role-{number % 200}"
        world.bind(f"b{number}", role, *subjects, namespace=namespace, kind="ClusterRole")
    return world


@pytest.mark.parametrize("spread", [True, False], ids=["spread", "all-on-one-group"])
def test_decisions_are_fast(spread: bool) -> None:
    world = filled(spread)
    who = user("u7", "g1", "g2", "all", "system:authenticated")
    question = ask(who, "get", "apps:nothing/status", "ns7", "x")
    assert best(lambda: world.rbac.decide(question), 50) < COLD
    assert not asyncio.run(world.authorizer.allowed(question))
    assert best(lambda: world.authorizer.decide_cached(question), 1000) < WARM
