"""What makes a release: `tools/release.py`, and the workflows that build wheels elsewhere."""

from __future__ import annotations

import re
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.cli.catalog import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = (".github/workflows/release.yml", ".gitlab-ci.yml")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_the_notes_are_the_newest_section_of_the_changelog(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import release

    log = (
        "# Log\n\n## [Unreleased]\n\n## [1.1.0] - today\n\n- new\n\n## [1.0.0] - before\n\n- old\n"
    )
    assert release.notes(log, "1.1.0") == "# Fairlead 1.1.0\n\n- new\n"
    assert capsys.readouterr().out == ""
    release.notes(log, "1.2.0")
    assert "the newest section is [1.1.0] - today, not [1.2.0]" in capsys.readouterr().out
    with pytest.raises(release.ReleaseFailedError, match="no section"):
        release.notes("# Log\n", "1.0.0")


def test_a_python_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import release

    here = ".".join(map(str, sys.version_info[:2]))
    monkeypatch.setattr(release, "PYTHONS", (here, "3.99"))
    assert release.find_pythons() == {here: Path(sys.executable)}
    assert "Python 3.99: NOT FOUND" in capsys.readouterr().out
    monkeypatch.setattr(release, "PYTHONS", ("3.99",))
    with pytest.raises(release.ReleaseFailedError, match=r"none of Python 3.99 was found"):
        release.find_pythons()


def test_a_failed_command_shows_its_output() -> None:
    import release

    with pytest.raises(release.ReleaseFailedError, match="the reason"):
        release.run(sys.executable, "-c", "import sys; sys.exit('the reason')")


def test_archives_without_pages_and_changed_files_are_refused(tmp_path: Path) -> None:
    import release

    with tarfile.open(tmp_path / "docs.tar.gz", "w:gz"):
        pass
    with pytest.raises(release.ReleaseFailedError, match="only 0 pages"):
        release.check_docs(tmp_path / "docs.tar.gz")
    (tmp_path / "a").write_text("one")
    (tmp_path / release.SUMS).write_text(f"{release.checksum(tmp_path / 'a')}  a\n")
    release.check_sums(tmp_path)
    (tmp_path / "a").write_text("two")
    with pytest.raises(release.ReleaseFailedError, match="a has changed"):
        release.check_sums(tmp_path)


def commands(node: Any) -> list[str]:
    """Return the commands of a workflow: the values of `run` and `script`."""
    if isinstance(node, dict):
        found = [node[key] for key in ("run", "script") if key in node]
        lines = [line for item in found for line in (item if isinstance(item, list) else [item])]
        return lines + [line for value in node.values() for line in commands(value)]
    if isinstance(node, list):
        return [line for value in node for line in commands(value)]
    return []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_run_targets_that_there_are(name: str) -> None:
    workflow = yaml.safe_load((ROOT / name).read_text())
    targets = {
        match[1] for line in commands(workflow) for match in re.finditer(r"\bmake ([a-z-]+)", line)
    }
    assert "release" in targets
    assert targets <= TARGETS


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_build_wheels_for_linux_and_macos_on_x86_and_arm(name: str) -> None:
    text = (ROOT / name).read_text()
    machines = {
        WORKFLOWS[0]: ("ubuntu-24.04,", "ubuntu-24.04-arm", "macos-15-intel", "macos-15]"),
        WORKFLOWS[1]: ("linux-small-amd64", "linux-small-arm64", "x86_64 arm64"),
    }
    assert all(machine in text for machine in machines[name])
    assert "cibuildwheel" in text


def test_wheels_are_compiled_for_every_python_that_is_supported() -> None:
    import release

    settings = PROJECT["tool"]["cibuildwheel"]
    classifiers = "\n".join(PROJECT["project"]["classifiers"])
    supported = tuple(re.findall(r"Python :: (3\.\d+)$", classifiers, re.MULTILINE))
    assert supported == release.PYTHONS
    assert settings["build"] == " ".join(f"cp{item.replace('.', '')}-*" for item in supported)
    assert settings["environment"] == {"FAIRLEAD_COMPILE": "1"}
    program, command, *_ = settings["test-command"].split()
    assert program == "fairlead"
    assert command in COMMANDS


def item(name: str, version: str, digest: str, **metadata: str) -> dict[str, Any]:
    """A package in a report of pip."""
    return {
        "metadata": {"name": name, "version": version, **metadata},
        "download_info": {"archive_info": {"hashes": {"sha256": digest}}},
    }


def test_materials_have_the_hashes_of_all_machines() -> None:
    import materials

    one = [item("PyYAML", "6.0", "aa", license="MIT"), item("fairlead", "1.0", "ff")]
    packages = materials.packages_of([{"install": one}, {"install": [item("pyyaml", "6.0", "bb")]}])
    assert packages == [materials.Package("pyyaml", "6.0", "MIT", ("aa", "bb"))]
    lines = materials.requirements(packages).split()
    assert lines == ["pyyaml==6.0", "\\", "--hash=sha256:aa", "\\", "--hash=sha256:bb"]


def test_a_dependency_with_two_versions_is_refused() -> None:
    import materials

    reports = [{"install": [item("a", version, "aa")]} for version in ("1", "2")]
    with pytest.raises(materials.MaterialsError, match="a is 1 on one machine and 2 on another"):
        materials.packages_of(reports)


def test_a_bill_of_materials_names_each_package_and_depends_on_nothing_else() -> None:
    import materials

    packages = [materials.Package("pyyaml", "6.0", "MIT", ("aa",))]
    bill = materials.bill("1.0", packages)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    assert [each["purl"] for each in bill["components"]] == ["pkg:pypi/pyyaml@6.0"]
    assert bill["components"][0]["hashes"] == [{"alg": "SHA-256", "content": "aa"}]
    assert bill == materials.bill("1.0", packages)
