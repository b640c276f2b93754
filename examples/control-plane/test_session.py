"""A user's session runs as it is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.testing import Cluster

HERE = Path(__file__).parent


@pytest.mark.usefixtures("provisioner")
def test_the_session_of_a_user(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> None:
    cluster.apply(HERE / "plans.yaml")
    cluster.apply(HERE / "team.yaml")
    command = tmp_path / "fairlead"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fairlead "$@"\n')
    command.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", str(HERE / "session.sh")],
        env={**os.environ, "PATH": path, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "database.platform.example.com/orders condition met",
        "the engine of a database cannot be changed",
        'User "alice" cannot patch resource "plans"',
        "PlanExceeded",
        'database.platform.example.com "orders" deleted',
    ):
        assert words in done.stdout, done.stdout
