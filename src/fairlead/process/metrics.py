"""Metrics that operators watch of a whole server: readiness, certificates, the disk, reloads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from fairlead.api.health import Check
from fairlead.base.metrics import REGISTRY, Gauge, Labels
from fairlead.process.certificates.validity import validity_of


def _gauge(name: str, text: str, labels: Labels = ()) -> Gauge:
    """A gauge that has the same value in all processes of a server."""
    gauge = REGISTRY.gauge(name, text, labels)
    gauge.common = True
    return gauge


_READY = _gauge("fairlead_ready", "1 if /readyz succeeds, else 0.")
_CERTIFICATE_END = _gauge(
    "fairlead_certificate_expiration_timestamp_seconds",
    "When a certificate in use expires.",
    ("certificate",),
)
_DISK_FREE = _gauge(
    "fairlead_data_directory_free_bytes", "Free bytes of the disk with the data directory."
)
_DISK_SIZE = _gauge(
    "fairlead_data_directory_size_bytes", "Size of the disk with the data directory."
)
RELOAD_FAILED = _gauge(
    "fairlead_reload_failed", "1 if a file was unusable when SIGHUP read it again.", ("file",)
)


def show_readiness(checks: Mapping[str, Check]) -> None:
    _READY.read = lambda: {(): float(all(check() is None for check in checks.values()))}


def show_disk(directory: Path) -> None:
    """Show the room on the disk whenever metrics are read."""

    def room(count: Callable[[os.statvfs_result], int]) -> Callable[[], dict[Labels, float]]:
        def read() -> dict[Labels, float]:
            try:
                disk = os.statvfs(directory)
            except OSError:
                return {}
            return {(): float(count(disk) * disk.f_frsize)}

        return read

    _DISK_FREE.read = room(lambda disk: disk.f_bavail)
    _DISK_SIZE.read = room(lambda disk: disk.f_blocks)


def show_certificate(name: str, path: Path) -> None:
    """Show the expiry of the certificate that is in a file now."""
    try:
        _CERTIFICATE_END.set(validity_of(path.read_bytes()).end.timestamp(), (name,))
    except (OSError, ValueError):
        return  # the error is reported when it is loaded
