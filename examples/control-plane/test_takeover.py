"""One of several provisioners leads."""

from __future__ import annotations

from typing import Any

from platform_support import Platform, running

from fairlead.testing import Cluster, User

Object = dict[str, Any]


def test_another_one_takes_over_from_a_leader_that_was_killed(
    cluster: Cluster, platform: Platform, account: User
) -> None:
    leases = cluster.admin.resource("leases")

    def await_leader(identity: str) -> None:
        leases.wait("provisioner", lambda item: holder(item) == identity, "platform", timeout=60)

    with running(account, "leader") as leader:
        await_leader("leader")
        with running(account, "other"):
            platform.order("before")
            platform.await_reason("Provisioned", "before")
            leader.kill()
            platform.order("after")
            await_leader("other")
            platform.await_reason("Provisioned", "after")


def holder(lease: Object | None) -> str | None:
    identity: str | None = ((lease or {}).get("spec") or {}).get("holderIdentity")
    return identity
