"""Provisions the databases that users order: writes the result to their status, and the
credentials to a Secret that is deleted with the database.

Several may run; one of them leads:

    provisioner.py --identity $(hostname)
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import secrets
import signal
import socket
import sys
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from typing import Any

from fairlead.client import (
    AccessError,
    ApiError,
    Client,
    Informer,
    LeaderElection,
    Pace,
    Resource,
    UnknownResource,
    Unreachable,
)
from fairlead.client.errors import AlreadyExists, NotFound

LOG = logging.getLogger("provisioner")

GROUP = "platform.example.com"
LABEL = f"{GROUP}/database"
NAMESPACE = "platform"  # of the lease
PORTS = {"mysql": 3306, "postgres": 5432}
SECONDS_TO_NEXT_TRY = 0.5

Object = dict[str, Any]


class Refused(Exception):
    """An order that cannot be fulfilled; the texts are for a condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Queue:
    """A queue of keys, each in it at most once."""

    def __init__(self) -> None:
        self._keys: dict[str, None] = {}
        self._woken = asyncio.Event()

    def put(self, key: str) -> None:
        self._keys[key] = None
        self._woken.set()

    def put_later(self, key: str) -> None:
        asyncio.get_running_loop().call_later(SECONDS_TO_NEXT_TRY, self.put, key)

    async def get(self) -> str:
        while not self._keys:
            self._woken.clear()
            await self._woken.wait()
        key = next(iter(self._keys))
        del self._keys[key]
        return key


class Provisioner:
    def __init__(self, databases: Resource, plans: Resource, credentials: Resource) -> None:
        self._databases, self._credentials = databases, credentials
        self._queue = Queue()
        self._plans = Informer(plans)
        self._orders = Informer(databases, indexes={"plan": lambda item: [item["spec"]["plan"]]})
        self._secrets = Informer(credentials, labelSelector=LABEL)
        self._told: dict[str, Object] = {}  # orders as we left them, until the informer has them
        self._plans.handle(
            added=self._plan_changed,
            updated=lambda _, plan: self._plan_changed(plan),
            deleted=self._plan_changed,
        )
        self._orders.handle(
            added=self._order_came,
            updated=lambda _, order: self._order_changed(order),
            deleted=self._order_gone,
        )
        self._secrets.handle(deleted=self._secret_gone)

    @classmethod
    async def connect(cls, client: Client) -> Provisioner:
        """Raises UnknownResource while the definitions are missing."""
        return cls(
            await client.resource(f"databases.{GROUP}"),
            await client.resource(f"plans.{GROUP}"),
            await client.resource("secrets"),
        )

    async def run(self) -> None:
        """Run until cancelled."""
        async with AsyncExitStack() as running:
            for informer in (self._plans, self._orders, self._secrets):
                await running.enter_async_context(informer)
                await informer.synced()
            while True:
                await self._work(await self._queue.get())

    async def _work(self, key: str) -> None:
        order = self._told.get(key) or self._orders.get(key)
        if order is None or order["metadata"].get("deletionTimestamp"):
            return
        try:
            await self._provision(order)
        except NotFound:
            LOG.info("%s has gone meanwhile", key)
        except (AccessError, ApiError, Unreachable) as error:
            LOG.warning("%s is tried again: %s", key, error)
            self._queue.put_later(key)

    # What a change means for orders.

    def _plan_changed(self, plan: Object) -> None:
        self._look_at_all_of(plan["metadata"]["name"])

    def _look_at_all_of(self, plan: str) -> None:
        for order in self._orders.by_index("plan", plan):
            self._queue.put(key_of(order))

    def _order_came(self, order: Object) -> None:
        """It may be older than one that has its place in the plan: of the same second."""
        self._order_changed(order)
        self._look_at_all_of(order["spec"]["plan"])

    def _order_changed(self, order: Object) -> None:
        self._told.pop(key_of(order), None)
        self._queue.put(key_of(order))

    def _order_gone(self, order: Object) -> None:
        """Another one may have its place in the plan."""
        self._told.pop(key_of(order), None)
        self._look_at_all_of(order["spec"]["plan"])

    def _secret_gone(self, secret: Object) -> None:
        metadata = secret["metadata"]
        self._queue.put(f"{metadata['namespace']}/{metadata['labels'][LABEL]}")

    # One order.

    async def _provision(self, order: Object) -> None:
        try:
            self._check(order)
        except Refused as refusal:
            await self._write_status(order, condition("False", refusal.reason, str(refusal)))
            return
        await self._ensure_secret(order)
        ready = condition("True", "Provisioned", "the database can be used")
        await self._write_status(
            order, ready, endpoint=endpoint_of(order), secret=secret_name(order)
        )

    def _check(self, order: Object) -> None:
        """Raises Refused. An order keeps its place in a plan until it is deleted."""
        spec = order["spec"]
        plan = self._plans.get(spec["plan"])
        if plan is None:
            raise Refused("PlanNotFound", f"there is no plan {spec['plan']}")
        most, capacity = plan["spec"]["maxStorage"], plan["spec"]["capacity"]
        if spec["storage"] > most:
            raise Refused("PlanExceeded", f"the plan {spec['plan']} has {most} GiB at most")
        others = self._orders.by_index("plan", spec["plan"])
        if sum(age_of(other) < age_of(order) for other in others) >= capacity:
            raise Refused("PlanFull", f"the plan {spec['plan']} is for {capacity} databases")

    async def _ensure_secret(self, order: Object) -> None:
        metadata = order["metadata"]
        name = secret_name(order)
        if self._secrets.get(f"{metadata['namespace']}/{name}") is not None:
            return
        owner = {
            "apiVersion": order["apiVersion"],
            "kind": order["kind"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": metadata["namespace"],
                "labels": {LABEL: metadata["name"]},
                "ownerReferences": [owner],
            },
            "stringData": {"user": metadata["name"], "password": secrets.token_urlsafe(24)},
        }
        with suppress(AlreadyExists):  # the informer has not seen it yet
            await self._credentials.create(secret)

    async def _write_status(self, order: Object, ready: Object, **fields: str) -> None:
        """Write the status if it changed."""
        metadata, old = order["metadata"], order.get("status") or {}
        generation = metadata["generation"]
        condition: Object = next(
            (item for item in old.get("conditions", ()) if item["type"] == "Ready"), {}
        )
        changed_at = condition.get("lastTransitionTime")
        if changed_at is None or condition["status"] != ready["status"]:
            changed_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        ready |= {"lastTransitionTime": changed_at, "observedGeneration": generation}
        status = {"observedGeneration": generation, "conditions": [ready], **fields}
        if status == old:
            return
        applied = {
            "apiVersion": order["apiVersion"],
            "kind": order["kind"],
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
            "status": status,
        }
        key = key_of(order)
        seen = self._orders.get(key)
        written = await self._databases.apply(
            applied, manager="provisioner", force=True, subresource="status"
        )
        if self._orders.get(key) == seen:  # no event came meanwhile, which may be a newer one
            self._told[key] = written
        LOG.info("%s: %s", key, ready["reason"])


def condition(status: str, reason: str, message: str) -> Object:
    return {"type": "Ready", "status": status, "reason": reason, "message": message}


def key_of(value: Object) -> str:
    return f"{value['metadata']['namespace']}/{value['metadata']['name']}"


def age_of(value: Object) -> tuple[str, str]:
    """A sort key: older objects first."""
    return value["metadata"]["creationTimestamp"], value["metadata"]["uid"]


def secret_name(order: Object) -> str:
    return f"{order['metadata']['name']}-database"


def endpoint_of(order: Object) -> str:
    metadata = order["metadata"]
    port = PORTS[order["spec"]["engine"]]
    return f"{metadata['name']}.{metadata['namespace']}.db.example.com:{port}"


async def run(identity: str, pace: Pace) -> None:
    """Campaign for the lease, and lead while holding it, until cancelled."""
    async with Client.load() as client:

        async def lead() -> None:
            LOG.info("%s leads", identity)
            await (await Provisioner.connect(client)).run()

        leases = await client.resource("leases.coordination.k8s.io")
        while True:
            await LeaderElection(leases, "provisioner", NAMESPACE, identity, lead, pace=pace).run()
            LOG.warning("%s leads no more", identity)


async def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description="provision the databases that people order")
    parser.add_argument("--identity", default=socket.gethostname(), help="must be its own alone")
    parser.add_argument("--lease", type=float, default=15.0, help="seconds to hold off others")
    options = parser.parse_args(words)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    LOG.setLevel(logging.INFO)
    pace = Pace(options.lease, options.lease * 2 / 3, options.lease * 2 / 15)
    running = asyncio.create_task(run(options.identity, pace))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        return 0  # the lease was given back
    except (AccessError, ApiError, UnknownResource, Unreachable) as error:
        print(f"provisioner: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
