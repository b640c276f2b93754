"""Command-line flags for several servers on one store."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from fairlead.auth.authentication.flags import switch
from fairlead.base.dialect import Dialect
from fairlead.base.election import JITTER, Pace

LEASE, MASTER_COUNT, NONE = "lease", "master-count", "none"


class ServersFlagError(ValueError):
    """Invalid flags; the text names them."""


def add_servers_flags(
    parser: argparse.ArgumentParser,
    duration: Callable[[str], float],
    whole_number: Callable[[str], int],
) -> None:
    group = parser.add_argument_group("Several servers")
    flag = group.add_argument
    switch(
        group,
        "--leader-elect",
        True,
        "run controllers only on one elected server of those that share a store",
    )
    for name, seconds, text in (
        (
            "lease-duration",
            15.0,
            ("how long other servers wait after a leader's last renewal before they replace it"),
        ),
        ("renew-deadline", 10.0, "how long a leader that cannot renew the lease stays leader"),
        ("retry-period", 2.0, "time between attempts to acquire or renew the lease"),
    ):
        flag(
            f"--leader-elect-{name}", type=duration, default=seconds, metavar="DURATION", help=text
        )
    flag(
        "--leader-elect-resource-lock",
        choices=("leases",),
        default="leases",
        help="type of the resource that is used for the election",
    )
    flag(
        "--leader-elect-resource-name",
        default="",
        metavar="NAME",
        help="its name; by default the name of the dialect's controller manager",
    )
    flag(
        "--leader-elect-resource-namespace",
        default="",
        metavar="NAME",
        help="its namespace; by default the dialect's system namespace",
    )
    _add_endpoint_flags(group, whole_number)


def _add_endpoint_flags(group: argparse._ArgumentGroup, whole_number: Callable[[str], int]) -> None:
    flag = group.add_argument
    flag(
        "--endpoint-reconciler-type",
        choices=(LEASE, MASTER_COUNT, NONE),
        default=LEASE,
        help="how the Endpoints of the API's own service list all servers: lease"
        " lists the live ones, master-count a fixed number, none does not change"
        " them",
    )
    flag(
        "--apiserver-count",
        type=whole_number,
        default=1,
        metavar="N",
        help="number of servers for --endpoint-reconciler-type=master-count",
    )
    flag(
        "--identity-lease-duration-seconds",
        type=whole_number,
        default=3600,
        metavar="N",
        help="duration of the Lease that identifies this server; with the feature"
        " gate APIServerIdentity",
    )
    flag(
        "--identity-lease-renew-interval-seconds",
        type=whole_number,
        default=10,
        metavar="N",
        help="time between renewals of that Lease",
    )


def check_servers_flags(options: argparse.Namespace) -> None:
    """Raises ServersFlagError."""
    duration, deadline, pause = (
        options.leader_elect_lease_duration,
        options.leader_elect_renew_deadline,
        options.leader_elect_retry_period,
    )
    if duration < 1:
        raise ServersFlagError("--leader-elect-lease-duration: must be at least 1s")
    if duration <= deadline:
        raise ServersFlagError(
            "--leader-elect-lease-duration: must be greater than --leader-elect-renew-deadline"
        )
    if pause <= 0:
        raise ServersFlagError("--leader-elect-retry-period: must be greater than zero")
    if deadline <= JITTER * pause:
        raise ServersFlagError(
            "--leader-elect-renew-deadline: must be greater than"
            f" {JITTER} times --leader-elect-retry-period"
        )
    for name in (
        "apiserver-count",
        "identity-lease-duration-seconds",
        "identity-lease-renew-interval-seconds",
    ):
        if getattr(options, name.replace("-", "_")) < 1:
            raise ServersFlagError(f"--{name}: must be a positive number")


def election_lease(options: argparse.Namespace, dialect: Dialect) -> tuple[str, str]:
    """Return the namespace and the name of the lease of the election."""
    return (
        options.leader_elect_resource_namespace or dialect.system_namespace,
        options.leader_elect_resource_name or f"{dialect.system_prefix}-controller-manager",
    )


def election_pace(options: argparse.Namespace) -> Pace:
    return Pace(
        options.leader_elect_lease_duration,
        options.leader_elect_renew_deadline,
        options.leader_elect_retry_period,
    )
