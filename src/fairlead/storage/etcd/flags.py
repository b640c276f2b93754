"""Command line flags of the etcd store."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fairlead.storage.etcd import client, source
from fairlead.wire.grpc import channel

if TYPE_CHECKING:
    from fairlead.storage.etcd.rows import Codec

Reads = Callable[[str], Any]

# Accepted and ignored: these values are always current here, or polled at a fixed interval.
_WITHOUT_EFFECT = {
    "--etcd-count-metric-poll-period": 60.0,
    "--etcd-db-metric-poll-interval": 30.0,
}


class EtcdFlagError(ValueError):
    """Invalid flags; the text names them."""


def add_etcd_flags(
    parser: argparse.ArgumentParser, duration: Reads, whole_number: Reads
) -> argparse._ArgumentGroup:
    """Add the flags, and return their group; `duration` and `whole_number` parse values."""
    group = parser.add_argument_group("etcd")
    flag = group.add_argument
    flag(
        "--etcd-servers",
        default="",
        metavar="URLS",
        help="addresses of the members, such as https://10.0.0.1:2379,...; needs --storage=etcd",
    )
    for name, text in (
        (
            "--etcd-cafile",
            ("CA bundle for the members' certificates; by default the CAs of the system"),
        ),
        ("--etcd-certfile", "client certificate for the members"),
        ("--etcd-keyfile", "its key"),
    ):
        flag(name, type=Path, metavar="FILE", help=text)
    flag("--etcd-prefix", default="/registry", metavar="PATH", help="prefix of all keys")
    for name, text in (
        ("--etcd-healthcheck-timeout", "timeout of checks whether etcd answers"),
        ("--etcd-readycheck-timeout", "the same; the smaller of the two applies"),
    ):
        flag(name, type=duration, default=2.0, metavar="DURATION", help=text)
    flag(
        "--lease-reuse-duration-seconds",
        type=whole_number,
        default=60,
        metavar="N",
        help="how long a lease is reused for new keys with a time to live, which may"
        " live that much longer",
    )
    for name in _WITHOUT_EFFECT:
        flag(name, type=duration, help=argparse.SUPPRESS)
    return group


def etcd_flags_without_effect(options: argparse.Namespace) -> list[str]:
    """Return the given flags that have no effect."""
    return [name for name in _WITHOUT_EFFECT if _option(options, name) is not None]


def _option(options: argparse.Namespace, name: str) -> object:
    return getattr(options, name[2:].replace("-", "_"))


def check_etcd_flags(options: argparse.Namespace) -> None:
    """Validate the flags; raises EtcdFlagError."""
    urls = member_urls(options)
    for url in urls:
        check_url("--etcd-servers", url)
    if (options.etcd_certfile is None) != (options.etcd_keyfile is None):
        raise EtcdFlagError("--etcd-certfile and --etcd-keyfile go together")
    for name in ("--etcd-healthcheck-timeout", "--etcd-readycheck-timeout"):
        if not _option(options, name):
            raise EtcdFlagError(f"{name}: must be more than 0")
    if options.storage != "etcd":
        if urls:
            raise EtcdFlagError("--etcd-servers needs --storage=etcd")
        return
    if not urls:
        raise EtcdFlagError("--etcd-servers must be specified")
    for name in ("--etcd-cafile", "--etcd-certfile", "--etcd-keyfile"):
        _check_file(name, _option(options, name))


def member_urls(options: argparse.Namespace) -> list[str]:
    return [url.strip() for url in options.etcd_servers.split(",") if url.strip()]


def trust_of(options: argparse.Namespace) -> channel.Trust:
    return channel.Trust(options.etcd_cafile, options.etcd_certfile, options.etcd_keyfile)


def check_url(flag: str, url: str) -> None:
    """Raise EtcdFlagError unless `url` is the address of a member."""
    invalid = EtcdFlagError(f"{flag}: {url!r} is not an address such as https://10.0.0.1:2379")
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme == "unix" and parts.path:
        return
    try:
        is_good = parts.scheme in ("http", "https") and parts.hostname and parts.port
    except ValueError:
        raise invalid from None
    if not is_good or parts.path.strip("/") or parts.query or parts.username:
        raise invalid


def _check_file(name: str, path: object) -> None:
    if isinstance(path, Path):
        try:
            path.read_bytes()
        except OSError as error:
            raise EtcdFlagError(f"{name} {path}: {error.strerror}") from None


def build_etcd_source(
    options: argparse.Namespace,
    codec: Codec,
    ttl: source.Ttl | None = None,
    weighs: source.Weighs | None = None,
    *,
    urls: Sequence[str] = (),
    holds: source.Holds = lambda resource: True,
    records_release: bool = False,
) -> source.EtcdSource:
    """Build an unopened source from the flags. `ttl` returns the lifetime of a key, `weighs`
    whether decisions depend on a resource, `holds` whether the cluster keeps it. `urls` are the
    members, by default those of `--etcd-servers`."""
    return source.EtcdSource(
        [url.rstrip("/") for url in urls or member_urls(options)],
        codec,
        options.etcd_prefix,
        trust_of(options),
        ttl=ttl,
        weighs=weighs,
        holds=holds,
        lease_reuse=options.lease_reuse_duration_seconds,
        timing=client.DEFAULT_TIMING._replace(
            answer=min(options.etcd_healthcheck_timeout, options.etcd_readycheck_timeout)
        ),
        may_write=not getattr(options, "read_only", False),  # only the server has this flag
        records_release=records_release,
    )
