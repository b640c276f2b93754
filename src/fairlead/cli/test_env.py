"""`fairlead test-env`: writes programs with which test suites of controller-runtime start
Fairlead."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import ArgumentParser
from hashlib import sha256
from pathlib import Path

from fairlead.cli.envtest_programs import PROGRAMS
from fairlead.cli.parser import complain

_MODULE = "fairlead.cli.envtest_programs"


def add_arguments(parser: ArgumentParser) -> None:
    parser.epilog = "export KUBEBUILDER_ASSETS=$(fairlead test-env)"
    parser.add_argument(
        "directory",
        nargs="?",
        metavar="DIRECTORY",
        help="directory to write to; by default one in the user's cache",
    )


def run_test_env(directory: str | None) -> int:
    """Print only the directory of the programs; return the exit code."""
    place = Path(directory).absolute() if directory else _default_directory()
    try:
        make_programs(place)
    except OSError as error:
        complain("fairlead", f"cannot write to {place}: {error.strerror}")
        return 1
    print(place)
    return 0


def _default_directory() -> Path:
    """A cache directory per interpreter, because the programs contain the path of the
    interpreter."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    mark = sha256(sys.executable.encode()).hexdigest()[:12]
    return Path(cache) / "fairlead" / f"test-env-{mark}"


def make_programs(directory: Path) -> None:
    """Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        command = shlex.join([sys.executable, "-m", _MODULE, name])
        fresh = directory / f".{name}.{os.getpid()}"
        fresh.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        fresh.chmod(0o755)
        fresh.replace(directory / name)  # atomic: another process may be starting the program
