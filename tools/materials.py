"""What a release is made of: its bill of materials and its pinned requirements.

    fairlead-VERSION.cdx.json   a software bill of materials, CycloneDX 1.5
    requirements.txt            all packages with their versions and the hashes of their files

`pip install --require-hashes -r requirements.txt` takes nothing else. pip resolves the packages for
each machine and Python, because the files of compiled packages differ.

`python tools/materials.py WHEEL DIRECTORY` writes both; `make audit` looks the packages up in the
database of known vulnerabilities with pip-audit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path
from sysconfig import get_path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = "requirements.txt"
MACHINES = ("x86_64", "aarch64")
# Files for these versions of glibc run on current systems.
_GLIBC = ("2_5", "2_12", "2_17", "2_24", "2_26", "2_27", "2_28", "2_31", "2_34", "2_35")
_OLD_NAMES = ("manylinux2014", "manylinux2010", "manylinux1")
OWN = "fairlead"


class Package(NamedTuple):
    name: str
    version: str
    licence: str
    hashes: tuple[str, ...]  # of its files, one a machine

    @property
    def url(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


class MaterialsError(Exception):
    """With what the user should see."""


def packages_of(reports: Iterable[dict[str, Any]]) -> list[Package]:
    """The packages of pip's installation reports, without ours; the versions must agree."""
    found: dict[str, Package] = {}
    for report in reports:
        for item in report["install"]:
            package = _package(item)
            if package.name == OWN:
                continue
            known = found.setdefault(package.name, package)
            if known.version != package.version:
                raise MaterialsError(
                    f"{package.name} is {known.version} on one machine and {package.version}"
                    " on another"
                )
            hashes = tuple(sorted({*known.hashes, *package.hashes}))
            found[package.name] = known._replace(hashes=hashes)
    return sorted(found.values())


def _package(item: dict[str, Any]) -> Package:
    metadata = item["metadata"]
    licence = metadata.get("license_expression") or metadata.get("license") or ""
    if "\n" in licence or len(licence) > 80:  # the whole text
        licence = ""
    name = metadata["name"].lower().replace("_", "-")
    digest = (item["download_info"].get("archive_info") or {}).get("hashes", {}).get("sha256")
    return Package(name, metadata["version"], licence, (digest,) if digest else ())


def bill(version: str, packages: Iterable[Package]) -> dict[str, Any]:
    """A bill of materials, the same for the same packages."""
    components = [_component(package) for package in packages]
    root = {"type": "application", "name": OWN, "version": version, "bom-ref": OWN}
    serial = uuid5(NAMESPACE_URL, json.dumps([version, components]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {"component": {**root, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": components,
        "dependencies": [{"ref": OWN, "dependsOn": [each["bom-ref"] for each in components]}],
    }


def _component(package: Package) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": package.url,
        "name": package.name,
        "version": package.version,
        "purl": package.url,
        "hashes": [{"alg": "SHA-256", "content": digest} for digest in package.hashes],
    }
    if package.licence:
        component["licenses"] = [{"license": {"name": package.licence}}]
    return component


def requirements(packages: Iterable[Package]) -> str:
    lines = []
    for package in packages:
        hashes = "".join(f" \\\n    --hash=sha256:{digest}" for digest in package.hashes)
        lines.append(f"{package.name}=={package.version}{hashes}\n")
    return "".join(lines)


def resolve(wheel: Path, pythons: Iterable[str]) -> list[Package]:
    """Ask pip for the packages that a wheel needs on Linux, for each machine and Python. None is
    installed."""
    return packages_of(
        _report(wheel, python, machine) for python in pythons for machine in MACHINES
    )


def _report(wheel: Path, python: str, machine: str) -> dict[str, Any]:
    names = [f"manylinux_{version}" for version in reversed(_GLIBC)]
    platforms = [f"{name}_{machine}" for name in (*names, *_OLD_NAMES)]
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.json")
        words = ["install", "--dry-run", "--quiet", "--only-binary=:all:", "--target", directory]
        words += ["--report", str(report), "--python-version", python, str(wheel)]
        words += [f"--platform={platform}" for platform in platforms]
        _pip(sys.executable, *words)
        content: dict[str, Any] = json.loads(report.read_text())
    return content


def _pip(python: str | Path, *words: str) -> None:
    command = [str(python), "-m", "pip", *words, "--disable-pip-version-check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MaterialsError(f"pip {words[0]} failed: {done.stderr.strip()[-500:]}")


def write(wheel: Path, out: Path, pythons: Iterable[str]) -> None:
    """Write both files for the wheel of a release; raises MaterialsError."""
    version = wheel.name.split("-")[1]
    packages = resolve(wheel, pythons)
    (out / REQUIREMENTS).write_text(requirements(packages))
    content = json.dumps(bill(version, packages), indent=1)
    (out / f"{OWN}-{version}.cdx.json").write_text(f"{content}\n")


def audit() -> int:
    """Look up the packages of this environment with pip-audit. Returns 1 if one of them has a known
    vulnerability; raises MaterialsError if none could be looked up."""
    place = ROOT / "build" / "audit"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        _pip(python, "install", "--quiet", "pip-audit>=2.7,<3")
    words = ["-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "--format=json"]
    words += ["--path", get_path("purelib")]
    done = subprocess.run([str(python), *words], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except ValueError:
        raise MaterialsError(f"pip-audit failed: {done.stderr.strip()[-500:]}") from None
    known = [package for package in found if "vulns" in package]
    if not known:
        raise MaterialsError("the database of vulnerabilities cannot be reached from here")
    lines = [
        f"{package['name']} {package['version']}: {each['id']}, mended in {each['fix_versions']}"
        for package in known
        for each in package["vulns"]
    ]
    print("\n".join([*lines, f"{len(known)} packages were looked up, {len(lines)} findings"]))
    return int(bool(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", nargs="?", type=Path)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--audit", action="store_true")
    parser.add_argument("--python", action="append", help="a version, such as 3.12; repeatable")
    options = parser.parse_args()
    try:
        if options.audit:
            return audit()
        if options.directory is None:
            parser.error("it takes a wheel and a directory")
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        write(options.wheel, options.directory, options.python or [own])
    except MaterialsError as error:
        print(f"materials: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
