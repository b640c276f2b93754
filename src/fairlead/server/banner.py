"""What the person who started a server sees when it is ready."""

from __future__ import annotations

import os
import time
from pathlib import Path

from fairlead.dialect import CLUSTER, Dialect


def process_age() -> float:
    """Seconds since this process began, the interpreter's own start included."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, AttributeError, ValueError, IndexError):
        return time.process_time()


def banner(address: str, dialect: Dialect, directory: Path, seconds: float) -> str:
    """The first line has the address, for programs that start a server."""
    config = (directory / "admin.kubeconfig").absolute()
    lines = [
        f"Fairlead serves on {address} (dialect {dialect.name})",
        f"  ready in      {seconds:.2f} s",
        f"  data          {directory.absolute()}",
        f"  credentials   export KUBECONFIG={_quoted(config)}",
    ]
    if dialect is CLUSTER:
        keys = (directory / "pki").absolute()
        files = [_quoted(keys / name) for name in ("ca.crt", "admin.crt", "admin.key")]
        lines += [
            "  try           curl --cacert {} --cert {} --key {}".format(*files)
            + f" {address}/api/v1/namespaces",
            "  kubectl       needs its own names: start with --dialect kubernetes"
            " and another --data-dir",
        ]
    else:
        lines.append("  try           kubectl get namespaces")
    return "\n".join(lines)


def _quoted(path: Path) -> str:
    from shlex import quote

    return quote(str(path))
