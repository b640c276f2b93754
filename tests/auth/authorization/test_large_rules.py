"""Very long rules: the cost stays proportional."""

from __future__ import annotations

import asyncio
from time import process_time
from typing import Any

import pytest
from support.authorization import Objects, rule
from support.pace import in_time

from fairlead.auth.authorization.aggregation import ClusterRoleAggregation
from fairlead.auth.authorization.coverage import TooManyRules, missing_rules
from fairlead.auth.authorization.rbac import CLUSTER_ROLES

Object = dict[str, Any]


def words(letter: str, count: int) -> str:
    return " ".join(f"{letter}{number}" for number in range(count))


def test_rules_of_many_groups_resources_and_verbs_are_compared_at_once() -> None:
    wanted = [rule(words("g", 46), words("r", 46), words(f"{n}v", 46)) for n in range(4)]
    before = process_time()
    missing = missing_rules([rule("core", "pods", "get")], wanted)
    assert in_time(process_time() - before, 0.3)
    assert len(missing) == 1000


def test_rules_that_cannot_be_compared_in_time_are_refused() -> None:
    wanted = [rule(words("g", 600), words("r", 600), "get")]
    before = process_time()
    with pytest.raises(TooManyRules):
        missing_rules([], wanted)
    assert in_time(process_time() - before, 0.5)


class Aggregated:
    def __init__(self) -> None:
        self.objects = Objects()
        self.writes: list[str] = []
        self.longest = 0.0

    def put(self, name: str, labels: Object, rules: list[Object], *selectors: Object) -> None:
        value: Object = {"metadata": {"name": name, "labels": labels}, "rules": rules}
        if selectors:
            value["aggregationRule"] = {"clusterRoleSelectors": list(selectors)}
        self.objects.put(CLUSTER_ROLES, value)

    async def write(self, name: str, rules: list[Object]) -> None:
        self.writes.append(name)
        role = self.objects.find(CLUSTER_ROLES, "", name)
        assert role is not None
        self.objects.put(CLUSTER_ROLES, {**role, "rules": rules})

    async def settled(self) -> ClusterRoleAggregation:
        aggregation = ClusterRoleAggregation(self.write)
        aggregation.follow(self.objects.follow)
        await self.reconciled(aggregation)
        return aggregation

    async def reconciled(self, aggregation: ClusterRoleAggregation) -> None:
        """Reconcile, and see how long others on the loop had to wait meanwhile."""
        under_way = asyncio.ensure_future(aggregation.reconcile())
        while not under_way.done():
            before = process_time()
            await asyncio.sleep(0)
            self.longest = max(self.longest, process_time() - before)
        await under_way


MANY = {"matchLabels": {"many": "yes"}}


def test_a_change_touches_the_roles_that_it_concerns_only() -> None:
    world = Aggregated()

    async def run() -> None:
        for number in range(50):
            group = {"matchLabels": {"group": str(number)}}
            world.put(f"sum-{number}", {}, [], group)
            world.put(f"part-{number}", {"group": str(number)}, [rule("core", "pods", "get")])
        aggregation = await world.settled()
        world.writes.clear()
        world.put("part-7", {"group": "7"}, [rule("core", "pods", "list")])
        await world.reconciled(aggregation)

    asyncio.run(run())
    assert world.writes == ["sum-7"]


def test_roles_that_all_aggregate_each_other_hold_nobody_up() -> None:
    world = Aggregated()
    for number in range(120):
        own = [rule(f"g{number}", words("r", 5), "get")]
        world.put(f"role-{number}", {"many": "yes"}, own, MANY)
    before = process_time()
    asyncio.run(world.settled())
    assert in_time(process_time() - before, 2)
    assert in_time(world.longest, 0.3)
    assert len(world.writes) <= 3 * 120


def test_many_labelled_roles_are_gathered_in_steps() -> None:
    world = Aggregated()
    world.put("sum", {}, [], MANY)
    for number in range(1000):
        world.put(f"role-{number:04}", {"many": "yes"}, [rule(f"g{number}", "r", "get")])
    asyncio.run(world.settled())
    role = world.objects.find(CLUSTER_ROLES, "", "sum")
    assert role is not None
    assert len(role["rules"]) == 1000
    assert in_time(world.longest, 0.3)
