"""`--etcd-servers-overrides`: resources that are kept in other etcd clusters."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from fairlead.storage.etcd.flags import EtcdFlagError, check_url

FLAG = "--etcd-servers-overrides"


class Override(NamedTuple):
    """A resource by its group, which is empty for the core group, and its name; and the members of
    the cluster that keeps it."""

    group: str
    resource: str
    urls: tuple[str, ...]


def add_override_flag(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        FLAG,
        action="append",
        default=[],
        metavar="GROUP/RESOURCE#URLS",
        help="keep a resource in another cluster: its members, separated by semicolons, such as"
        " /events#https://10.0.1.1:2379;https://10.0.1.2:2379; several overrides are separated by"
        " commas; only events and leases (coordination.k8s.io/leases)",
    )


def overrides_of(options: argparse.Namespace) -> list[Override]:
    """Return the overrides in the flags; raises EtcdFlagError."""
    texts = ",".join(options.etcd_servers_overrides).split(",")
    return [_parse(text.strip()) for text in texts if text.strip()]


def _parse(text: str) -> Override:
    where, separator, servers = text.partition("#")
    group, slash, resource = where.partition("/")
    urls = tuple(url.strip().rstrip("/") for url in servers.split(";") if url.strip())
    if not separator or not slash or not resource or "/" in resource or "#" in servers or not urls:
        raise EtcdFlagError(
            f"{FLAG} invalid, must be of format: group/resource#servers, where servers are URLs,"
            " semicolon separated"
        )
    return Override(group, resource, urls)


def check_overrides(options: argparse.Namespace) -> None:
    """Validate the flag with those that it depends on; raises EtcdFlagError."""
    seen: set[tuple[str, str]] = set()
    for override in overrides_of(options):
        if override[:2] in seen:
            raise EtcdFlagError(f"{FLAG}: {override.group}/{override.resource} is there twice")
        seen.add(override[:2])
        for url in override.urls:
            check_url(FLAG, url)
    if seen and options.storage != "etcd":
        raise EtcdFlagError(f"{FLAG} needs --storage=etcd")
    if seen and options.workers > 1:
        raise EtcdFlagError(f"{FLAG} and --workers do not go together")
