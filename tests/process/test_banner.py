"""The lines that a server prints when it is ready."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fairlead.base.compiled import is_compiled
from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.base.release import V1_25
from fairlead.process.banner import banner, compile_command, process_age

ADDRESS = "https://127.0.0.1:6443"


def test_the_first_line_has_the_address_the_dialect_and_the_release() -> None:
    first = banner(ADDRESS, KUBERNETES, V1_25, Path("data"), 0.4).splitlines()[0]
    assert f" {ADDRESS} " in first
    assert "kubernetes" in first
    assert "1.25" in first


def test_paths_are_absolute_and_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my data").mkdir()
    monkeypatch.chdir(tmp_path)
    text = banner(ADDRESS, KUBERNETES, V1_25, Path("my data"), 0.4)
    assert f"export KUBECONFIG='{tmp_path}/my data/admin.kubeconfig'" in text
    assert f"data          {tmp_path}/my data" in text


def test_it_says_how_long_the_start_took() -> None:
    assert "0.43 s" in banner(ADDRESS, CLUSTER, V1_25, Path("data"), 0.4321)
    assert 0 < process_age() < 24 * 3600


def test_it_proposes_commands_that_work_in_the_dialect() -> None:
    kubernetes = banner(ADDRESS, KUBERNETES, V1_25, Path("data"), 1)
    assert "fairlead get namespaces" in kubernetes
    assert "kubectl get namespaces" in kubernetes
    cluster = banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1)
    assert "fairlead get namespaces" in cluster
    assert "--dialect kubernetes" in cluster


def test_it_says_what_was_in_the_data_directory() -> None:
    text = banner(ADDRESS, CLUSTER, V1_25, Path("/data"), 1, "12 objects at revision 34, 5.6 KiB")
    assert "  data          /data (12 objects at revision 34, 5.6 KiB)\n" in text


def test_it_says_where_the_console_is_if_there_is_one() -> None:
    assert f" {ADDRESS}/console/ " in banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1, console=True)
    assert "/console/" not in banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1)


def test_it_says_that_pods_need_nodes_if_there_are_none() -> None:
    assert "--simulate-nodes 3" in banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1)
    assert "--simulate-nodes" not in banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1, nodes=3)


def test_a_plain_server_names_the_command_that_compiles_it() -> None:
    text = banner(ADDRESS, CLUSTER, V1_25, Path("data"), 1)
    assert ("(compiled)" in text) == is_compiled()
    assert ("  plain Python  for a faster server: " in text.splitlines()[-1]) != is_compiled()


def test_a_checkout_is_compiled_by_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "building").mkdir()
    package = tmp_path / "src" / "fairlead"
    assert compile_command(package) == f"make -C {tmp_path} compile"
    monkeypatch.chdir(tmp_path)
    assert compile_command(package) == "make compile"


def test_an_installed_package_is_compiled_by_pip_from_where_it_came(tmp_path: Path) -> None:
    pip = f"FAIRLEAD_COMPILE=1 {sys.executable} -m pip install --force-reinstall --no-deps "
    package = tmp_path / "site-packages" / "fairlead"
    package.mkdir(parents=True)
    from_index = compile_command(package)
    assert from_index == f"{pip}--no-cache-dir --no-binary fairlead fairlead"
    record = package.parent / "fairlead-1.0.dist-info" / "direct_url.json"
    record.parent.mkdir()
    record.write_text(json.dumps({"dir_info": {}, "url": "file:///my%20source"}))
    assert compile_command(package) == f"{pip}'/my source'"
    record.write_text(json.dumps({"archive_info": {}, "url": "file:///a.whl"}))
    assert compile_command(package) == from_index
