"""Installs the packages of a make target into `.venv` and shows progress:

    python tools/environment.py serving|testing|documenting|wheelhouse

Packages come from the directory `wheelhouse`, or the one that FAIRLEAD_WHEELHOUSE names, if it is
there, and from the package index otherwise. `wheelhouse` fills that directory for machines without
a network. A failure is one line; the whole output of pip is in `.venv/install.log`.
"""

from __future__ import annotations

import os
import queue
import re
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
LOG = VENV / "install.log"
EXTRAS = {"serving": "", "testing": "[dev]", "documenting": "[docs]"}
# The name in pip's line about a requirement or a wheel file.
PACKAGE = r"\s*(?:Collecting |Processing \S*/)([A-Za-z][\w.]*(?:-[A-Za-z]\w*)*)"
INDEX_FAILURES = (
    *("NewConnectionError", "NameResolutionError", "ConnectTimeout", "ProxyError", "Max retries"),
    *("Temporary failure in name resolution", "Network is unreachable", "Connection refused"),
)


class InstallFailedError(Exception):
    """With one line for the user."""


def show(text: str, ends: bool = False) -> None:
    """Print a line. On a terminal the next one replaces it, unless it ends a step."""
    if sys.stdout.isatty():
        print(f"\r\x1b[K{text}", end="\n" if ends else "", flush=True)
    else:
        print(text, flush=True)


def wheelhouse() -> Path:
    return Path(os.environ.get("FAIRLEAD_WHEELHOUSE") or ROOT / "wheelhouse")


def create_environment() -> None:
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    show(f"Creating {VENV.name} with {python} ...", ends=True)
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        rmtree(VENV, ignore_errors=True)
        raise InstallFailedError(
            f"{sys.executable} cannot create {VENV.name}: on Debian it needs the package"
            f" python3-venv ({(done.stdout + done.stderr).strip().splitlines()[-1]})"
        )


def lines_of(stream: IO[str]) -> Iterator[str]:
    """Yield lines as they come, and an empty text each time none came for half a second."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=0.5)
        except queue.Empty:
            line = ""
        if line is None:
            return
        yield line


def installed() -> int:
    return len(list(VENV.glob("lib/python*/site-packages/*.dist-info")))


def run_pip(words: list[str]) -> None:
    """Run pip and show its progress."""
    command = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    # An editable installation cannot be compiled.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "FAIRLEAD_COMPILE": "0"}
    with (
        LOG.open("w") as log,
        subprocess.Popen(
            [*command, "--retries", "2", *words],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as pip,
    ):
        assert pip.stdout is not None
        collected = total = before = shown = 0
        for line in lines_of(pip.stdout):
            log.write(line)
            if line.endswith("Installing build dependencies: started\n"):
                show("  installing the build backend")
            elif match := re.match(PACKAGE, line):
                collected += 1
                show(f"  collecting package {collected}: {match[1]}")
            elif match := re.match(r"Installing collected packages: (.*)", line):
                total, before = len(match[1].split(", ")), installed()
                show(f"  installing {total} packages")
            elif total and shown < (now := min(installed() - before, total)):
                shown = now
                show(f"  installed {shown} of {total} packages")
    if pip.returncode:
        raise InstallFailedError(reason(LOG.read_text()))


def reason(output: str) -> str:
    """Say in a line why pip failed."""
    missing = re.search(r"No matching distribution found for (\S+)", output)
    if wheelhouse().is_dir() and missing:
        return (
            f"{wheelhouse()} lacks {missing[1]}: run `make wheelhouse` where there is a network,"
            " or remove it to use the package index"
        )
    if any(text in output for text in INDEX_FAILURES):
        return (
            f"the package index cannot be reached and there is no {wheelhouse()}:"
            " run `make wheelhouse` where there is a network and copy it here"
        )
    errors = re.findall(r"^\s*ERROR: (.*)$", output, re.MULTILINE) or output.splitlines()[-1:]
    return f"pip failed: {' '.join(errors[:1])} (see {LOG})"


def install(purpose: str) -> None:
    began = time.monotonic()
    if not (VENV / "bin" / "python").exists():
        create_environment()
    source = []
    if wheelhouse().is_dir():
        source = ["--no-index", "--find-links", str(wheelhouse())]
    where = wheelhouse() if source else "the package index"
    show(f"Installing what {purpose} needs from {where} ...", ends=True)
    run_pip(["install", *source, "--editable", f".{EXTRAS[purpose]}"])
    show("  writing bytecode")
    python = str(VENV / "bin" / "python")
    subprocess.run([python, "-m", "compileall", "-q", "src"], cwd=ROOT, check=False)
    show(f"  installed after {time.monotonic() - began:.0f} s", ends=True)


def fill_wheelhouse() -> None:
    """Collect the wheels of everything that the targets install."""
    if not (VENV / "bin" / "python").exists():
        create_environment()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for names in project["project"]["optional-dependencies"].values():
        wanted += names
    show(f"Collecting wheels into {wheelhouse()} ...", ends=True)
    run_pip(["wheel", "--wheel-dir", str(wheelhouse()), *wanted])
    show(f"  {len(list(wheelhouse().glob('*.whl')))} wheels", ends=True)


def main() -> int:
    purpose = sys.argv[1]
    try:
        if purpose == "wheelhouse":
            fill_wheelhouse()
        else:
            install(purpose)
    except InstallFailedError as error:
        show(f"fairlead: {error}", ends=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
