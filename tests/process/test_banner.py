"""The lines that a server prints when it is ready."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.process.banner import banner, process_age

ADDRESS = "https://127.0.0.1:6443"


def test_the_first_line_has_the_address_and_the_dialect() -> None:
    first = banner(ADDRESS, KUBERNETES, Path("data"), 0.4).splitlines()[0]
    assert f" {ADDRESS} " in first
    assert "kubernetes" in first


def test_paths_are_absolute_and_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my data").mkdir()
    monkeypatch.chdir(tmp_path)
    text = banner(ADDRESS, KUBERNETES, Path("my data"), 0.4)
    assert f"export KUBECONFIG='{tmp_path}/my data/admin.kubeconfig'" in text
    assert f"data          {tmp_path}/my data" in text


def test_it_says_how_long_the_start_took() -> None:
    assert "0.43 s" in banner(ADDRESS, CLUSTER, Path("data"), 0.4321)
    assert 0 < process_age() < 24 * 3600


def test_it_proposes_commands_that_work_in_the_dialect() -> None:
    kubernetes = banner(ADDRESS, KUBERNETES, Path("data"), 1)
    assert "fairlead get namespaces" in kubernetes
    assert "kubectl get namespaces" in kubernetes
    cluster = banner(ADDRESS, CLUSTER, Path("data"), 1)
    assert "fairlead get namespaces" in cluster
    assert "--dialect kubernetes" in cluster


def test_it_says_what_was_in_the_data_directory() -> None:
    text = banner(ADDRESS, CLUSTER, Path("/data"), 1, "12 objects at revision 34, 5.6 KiB")
    assert "  data          /data (12 objects at revision 34, 5.6 KiB)\n" in text


def test_it_says_where_the_console_is_if_there_is_one() -> None:
    assert f" {ADDRESS}/console/ " in banner(ADDRESS, CLUSTER, Path("data"), 1, console=True)
    assert "/console/" not in banner(ADDRESS, CLUSTER, Path("data"), 1)


def test_it_says_that_pods_need_nodes_if_there_are_none() -> None:
    assert "--simulate-nodes 3" in banner(ADDRESS, CLUSTER, Path("data"), 1)
    assert "--simulate-nodes" not in banner(ADDRESS, CLUSTER, Path("data"), 1, nodes=3)
