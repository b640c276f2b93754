"""`make release`: builds all files of a release into `dist/` and tries each in a clean environment.

    fairlead-VERSION.tar.gz             the sources
    fairlead-VERSION-py3-none-any.whl   plain Python
    fairlead-VERSION-cp311-...whl       compiled for this machine, one for each Python that is found
    fairlead-VERSION-docs.tar.gz        the documentation as a site
    fairlead-VERSION.cdx.json           a bill of materials (CycloneDX)
    requirements.txt                    all dependencies, pinned by version and hash
    NOTES.md                            the newest section of CHANGELOG.md
    SHA256SUMS

`dist/` is replaced when everything has been tried. `--wheels` (`make wheel`) only builds the
compiled wheels. Wheels for other machines are built by .github/workflows/release.yml.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from shutil import copy, rmtree, which

import materials

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13")
SUMS = "SHA256SUMS"
START = 60  # seconds that a server may take to start


class ReleaseFailedError(Exception):
    """With what the user should see."""


def say(text: str) -> None:
    print(f"release: {text}", flush=True)


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Return the output of a command, which must not fail. The environment has nothing of this
    checkout."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**kept, "FAIRLEAD_COMPILE": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(map(str, command))
        raise ReleaseFailedError(f"{words} failed:\n{done.stdout}")
    return done.stdout


def find_python(version: str) -> Path | None:
    """Return the first interpreter of this version that runs: this one, one in PATH, or pyenv's."""
    places = [sys.executable, which(f"python{version}") or ""]
    places += map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    code = "import sys, venv; print('.'.join(map(str, sys.version_info[:2])))"
    for place in filter(None, places):
        done = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
        if done.stdout.strip() == version:
            return Path(place)
    return None


def find_pythons() -> dict[str, Path]:
    pythons = {version: find_python(version) for version in PYTHONS}
    for version, python in pythons.items():
        say(f"Python {version}: {python or 'NOT FOUND, no compiled wheel for it'}")
    available = {version: python for version, python in pythons.items() if python}
    if not available:
        raise ReleaseFailedError(f"none of Python {', '.join(PYTHONS)} was found")
    return available


def environment_of(python: Path, directory: Path) -> Path:
    """Create a virtual environment and return its directory of programs."""
    run(python, "-m", "venv", directory)
    return directory / "bin"


def build_sdist(out: Path) -> Path:
    code = f"import fairlead_build; print(fairlead_build.build_sdist({str(out)!r}))"
    name = run(sys.executable, "-c", code, PYTHONPATH=str(ROOT / "building")).split()[-1]
    return out / name


def build_wheel(python: Path, source: Path, out: Path, *, compiled: bool) -> Path:
    """Build a wheel from a directory or an sdist."""
    before = {*out.glob("*.whl")}
    with tempfile.TemporaryDirectory() as directory:
        pip = environment_of(python, Path(directory)) / "pip"
        words = ("wheel", "--no-deps", "--no-cache-dir", "--wheel-dir", out, source)
        run(pip, *words, FAIRLEAD_COMPILE=str(int(compiled)))
    (wheel,) = {*out.glob("*.whl")} - before
    return wheel


def build_compiled_wheels(pythons: dict[str, Path], source: Path, out: Path) -> dict[str, Path]:
    wheels = {}
    for version, python in pythons.items():
        say(f"compiling a wheel for Python {version}, a minute or two ...")
        wheels[version] = build_wheel(python, source, out, compiled=True)
        say(f"built {wheels[version].name}")
    return wheels


def build_docs(version: str, out: Path) -> Path:
    archive = out / f"fairlead-{version}-docs.tar.gz"
    with tempfile.TemporaryDirectory() as directory:
        words = ("mkdocs", "build", "--strict", "--quiet", "--site-dir", directory)
        run(sys.executable, "-m", *words, NO_MKDOCS_2_WARNING="1")
        with tarfile.open(archive, "w:gz") as tar:
            tar.add(directory, f"fairlead-{version}-docs")
    return archive


def notes(changelog: str, version: str) -> str:
    """Return the newest section of a changelog that is not empty."""
    for section in re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]:
        head, _, body = section.partition("\n")
        if body.strip():
            if f"[{version}]" not in head:
                say(f"CHANGELOG.md: the newest section is {head}, not [{version}]")
            return f"# Fairlead {version}\n\n{body.strip()}\n"
    raise ReleaseFailedError("CHANGELOG.md has no section")


def checksum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_docs(archive: Path) -> None:
    with tarfile.open(archive) as tar:
        pages = [name for name in tar.getnames() if name.endswith(".html")]
    if len(pages) < 10:
        raise ReleaseFailedError(f"{archive.name} has only {len(pages)} pages")


def check_sums(directory: Path) -> None:
    for line in (directory / SUMS).read_text().splitlines():
        value, name = line.split()
        if checksum(directory / name) != value:
            raise ReleaseFailedError(f"{name} has changed since {SUMS} was written")


def try_package(python: Path, package: Path, expected: str) -> None:
    """Install a package into a clean environment, ask for its version, and create an object in its
    server."""
    with tempfile.TemporaryDirectory(prefix="fairlead-release-") as name:
        directory = Path(name)
        programs = environment_of(python, directory / "venv")
        run(programs / "pip", "install", "--no-cache-dir", package)
        fairlead = programs / "fairlead"
        version = run(fairlead, "version", "--client", cwd=directory).strip()
        if version != expected:
            raise ReleaseFailedError(f"{package.name} says {version!r} and not {expected!r}")
        data, output = directory / "data", directory / "output"
        words = [str(fairlead), "serve", "--secure-port", "0", "--data-dir", str(data)]
        with (
            output.open("w") as stream,
            subprocess.Popen(words, stdout=stream, stderr=stream) as server,
        ):
            try:
                _use_server(fairlead, server, data, output)
            finally:
                server.terminate()
        if server.returncode:
            raise ReleaseFailedError(
                f"the server ended with {server.returncode}: {output.read_text()}"
            )


def try_requirements(python: Path, wheel: Path, requirements: Path) -> None:
    """Install the pinned dependencies by their hashes; the package must find no others missing."""
    with tempfile.TemporaryDirectory(prefix="fairlead-release-") as directory:
        pip = environment_of(python, Path(directory)) / "pip"
        run(pip, "install", "--no-cache-dir", "--require-hashes", "-r", requirements)
        run(pip, "install", "--no-deps", wheel)
        run(pip, "check")


def _use_server(fairlead: Path, server: subprocess.Popen[bytes], data: Path, output: Path) -> None:
    deadline = time.monotonic() + START
    while "serves on https://" not in output.read_text():
        if server.poll() is not None or time.monotonic() > deadline:
            raise ReleaseFailedError(f"the server did not start: {output.read_text()}")
        time.sleep(0.1)
    config = str(data / "admin.kubeconfig")
    create = ("create", "configmap", "hello", "--from-literal", "greeting=ahoy")
    run(fairlead, *create, KUBECONFIG=config)
    words = ("get", "configmap", "hello", "-o", "jsonpath={.data.greeting}")
    greeting = run(fairlead, *words, KUBECONFIG=config)
    if greeting.strip() != "ahoy":
        raise ReleaseFailedError(f"the object came back as {greeting!r}")


def release(out: Path) -> None:
    pythons = find_pythons()
    own = next(iter(pythons.values()))
    say("building the sources and the plain wheel ...")
    sdist = build_sdist(out)
    version = sdist.name.removeprefix("fairlead-").removesuffix(".tar.gz")
    plain = build_wheel(own, sdist, out, compiled=False)
    compiled = build_compiled_wheels(pythons, sdist, out)
    say("resolving the dependencies ...")
    try:
        materials.write(plain, out, pythons)
    except materials.MaterialsError as error:
        raise ReleaseFailedError(str(error)) from None
    say("building the documentation ...")
    docs = build_docs(version, out)
    (out / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(), version))
    lines = [f"{checksum(file)}  {file.name}\n" for file in sorted(out.iterdir())]
    (out / SUMS).write_text("".join(lines))
    trials = [(own, sdist, "plain"), *((python, plain, "plain") for python in pythons.values())]
    trials += [(pythons[name], wheel, "compiled") for name, wheel in compiled.items()]
    for python, package, kind in trials:
        say(f"trying {package.name} with {python} ...")
        try_package(python, package, f"fairlead {version} ({kind})")
    try_requirements(own, plain, out / materials.REQUIREMENTS)
    check_docs(docs)
    check_sums(out)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/release.py", description=__doc__)
    parser.add_argument("--wheels", action="store_true", help="build only the compiled wheels")
    options = parser.parse_args()
    try:
        if options.wheels:
            DIST.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory() as out:
                for wheel in build_compiled_wheels(find_pythons(), ROOT, Path(out)).values():
                    copy(wheel, DIST)
            return 0
        with tempfile.TemporaryDirectory() as out:
            release(Path(out))
            rmtree(DIST, ignore_errors=True)
            DIST.mkdir()
            for file in sorted(Path(out).iterdir()):
                copy(file, DIST)
                say(f"dist/{file.name}")
    except ReleaseFailedError as error:
        say(f"FAILED: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
