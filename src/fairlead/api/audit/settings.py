"""What the command line says of the audit log."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.base.dialect import Dialect


class Limits(NamedTuple):
    """Of `--audit-…-truncate-…`, in bytes."""

    event: int
    batch: int


class Batching(NamedTuple):
    """Of `--audit-…-batch-…`. `qps` is 0 where nothing is throttled."""

    buffer_size: int
    max_size: int
    max_wait: float
    qps: float
    burst: int


def api_version(dialect: Dialect) -> str:
    """The one version of the group of policies and events."""
    return dialect.group_name("audit.@/v1")
