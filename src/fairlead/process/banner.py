"""The startup message of a server."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from fairlead.base.compiled import is_compiled
from fairlead.base.dialect import CLUSTER, Dialect
from fairlead.base.logs import is_json_log
from fairlead.base.release import Release
from fairlead.base.terminal import OWN, guarded

if TYPE_CHECKING:
    from fairlead.storage.store import Store

_PACKAGE = Path(__file__).parents[1]


def process_age() -> float:
    """Return the seconds since this process started, including the interpreter's own start."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        began = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - began
    except (OSError, AttributeError, ValueError, IndexError):
        return time.process_time()


def describe_contents(store: Store, storage: str) -> str:
    """Describe the contents of a store that was just opened."""
    count = sum(len(collection) for collection in store.collections())
    where = " in etcd" if storage == "etcd" else ""
    if not count:
        return f"new{where}"
    objects = "1 object" if count == 1 else f"{count:,} objects"
    size = "" if where else f", {_size(store.log.size())}"
    return f"{objects}{where} at revision {store.revision}{size}"


def banner(
    address: str,
    dialect: Dialect,
    release: Release,
    directory: Path,
    seconds: float,
    data_found: str = "",
    console: bool = False,
    nodes: int = 0,
) -> str:
    """Return the startup message. Programs that start a server read the address from its first
    line. `nodes` is the number of simulated nodes."""
    config = (directory / "admin.kubeconfig").absolute()
    lines = [
        f"Fairlead serves on {address} (dialect {dialect.name}, release {release.name})",
        f"  ready in      {seconds:.2f} s" + (" (compiled)" if is_compiled() else ""),
        f"  data          {directory.absolute()}" + (f" ({data_found})" if data_found else ""),
        f"  credentials   export KUBECONFIG={_quoted(config)}",
        f"  try           {_own_command()} get namespaces",
    ]
    if dialect is CLUSTER:
        lines.append(
            "  kubectl       needs other API names: start with --dialect kubernetes"
            " and another --data-dir"
        )
    else:
        lines.append("  or            kubectl get namespaces")
    if not nodes:
        lines.append("  pods          stay Pending without nodes; --simulate-nodes 3 adds three")
    if console:
        lines.append(f"  console       {address}/console/ ({_own_command()} console signs in)")
    if not is_compiled():
        lines.append(f"  plain Python  for a faster server: {compile_command(_PACKAGE)}")
    return "\n".join(lines)


def show_banner(text: str) -> None:
    """Print the message. On a terminal the first line is bold, and a line explains Ctrl-C."""
    if sys.stdout.isatty():
        first, _, others = text.partition("\n")
        if not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
            first = f"{OWN}[1m{first}{OWN}[0m"
        text = f"{first}\n{others}\n  Ctrl-C        stops it gracefully, a second one at once"
    print(text, file=guarded(sys.stdout), flush=True)


_STOPPING = (
    "finishing running requests; Ctrl-C again stops at once",
    "stopping at once",
)


def print_stop_notice(times: int) -> None:
    """Print on a terminal what the first or second stop signal does."""
    if sys.stderr.isatty() and not is_json_log():
        message = _STOPPING[min(times, len(_STOPPING)) - 1]
        with suppress(OSError):  # a closed terminal may be the cause of the signal
            print(f"{OWN}[Gfairlead: {message}", file=guarded(sys.stderr), flush=True)


def _size(count: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _own_command() -> str:
    """Return the command that runs this program in a shell, even if it is not in PATH."""
    is_known = any(
        os.access(Path(directory, "fairlead"), os.X_OK) for directory in os.get_exec_path()
    )
    return "fairlead" if is_known else f"{_quoted(Path(sys.executable))} -m fairlead"


def compile_command(package: Path) -> str:
    """Return the command that makes a compiled package of the plain one in this directory: `make`
    in a checkout, else an installation by pip, from the directory it installed before."""
    checkout = package.parents[1]
    if (checkout / "building").is_dir():
        elsewhere = "" if checkout == Path.cwd() else f"-C {_quoted(checkout)} "
        return f"make {elsewhere}compile"
    source = "--no-cache-dir --no-binary fairlead fairlead"
    for file in package.parent.glob("fairlead-*.dist-info/direct_url.json"):
        origin = json.loads(file.read_text())
        if "dir_info" in origin:
            source = _quoted(Path(unquote(urlsplit(origin["url"]).path)))
    pip = f"{_quoted(Path(sys.executable))} -m pip"
    return f"FAIRLEAD_COMPILE=1 {pip} install --force-reinstall --no-deps {source}"


def _quoted(path: Path) -> str:
    return quote(str(path))
