"""The deliverables: the wheel, the container file, the changelog."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from fairlead import __version__
from fairlead.cli.catalog import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def run(directory: Path, *words: str, **environment: str) -> str:
    """Return the output of Python. Its coverage is not measured."""
    unmeasured = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=directory,
        env={**unmeasured, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built like pip does, but with installed packages, without a network. Nothing is compiled; see
    `make test-compiled`."""
    out = tmp_path_factory.mktemp("wheel")
    system = PROJECT["build-system"]
    build = f"import {system['build-backend']} as backend; backend.build_wheel({str(out)!r})"
    run(ROOT, "-c", build, PYTHONPATH=system["backend-path"][0], FAIRLEAD_COMPILE="0")
    (path,) = out.iterdir()
    return path


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("fairlead/")}
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "fairlead").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert packed == {*sources, "fairlead/compiler.txt"}


def test_the_wheel_tells_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        folder = f"fairlead-{__version__}.dist-info"
        text = archive.read(f"{folder}/METADATA").decode()
        points = archive.read(f"{folder}/entry_points.txt").decode()
    assert f"\nVersion: {__version__}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text
    assert "\nDescription-Content-Type: text/markdown\n" in text
    assert "# Fairlead" in text
    wanted = ["[console_scripts]", "fairlead", "=", "fairlead.cli:main"]
    wanted += ["[pytest11]", "fairlead", "=", "fairlead.testing.plugin"]
    assert points.split() == wanted


def test_what_is_in_the_wheel_runs(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    output = run(tmp_path, "-c", "import fairlead; print(fairlead.__file__)", PYTHONPATH="")
    assert Path(output.strip()) == tmp_path / "fairlead" / "__init__.py"
    text = run(tmp_path, "-m", "fairlead", "--version", PYTHONPATH="")
    assert text == f"fairlead {__version__}\n"


def test_the_version_stands_in_one_place() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "fairlead.__version__"}
    literal = f'"{__version__}"'
    written = [path for path in (ROOT / "src").rglob("*.py") if literal in path.read_text()]
    assert written == [ROOT / "src" / "fairlead" / "__init__.py"]


def test_the_changelog_has_the_version_and_what_comes_next() -> None:
    heads = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert heads[0] == "[Unreleased]"
    released = [
        re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", head) for head in heads[1:]
    ]
    assert all(released)
    assert __version__ in {item[1] for item in released if item is not None}
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= kinds


def instructions() -> list[tuple[str, str]]:
    """Of the Containerfile, with continued lines joined."""
    text = (ROOT / "Containerfile").read_text()
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [
        (word, rest)
        for word, _, rest in (line.partition(" ") for line in joined.split("\n"))
        if word
    ]


def stages() -> list[list[tuple[str, str]]]:
    rows: list[list[tuple[str, str]]] = []
    for instruction in instructions():
        if instruction[0] == "FROM":
            rows.append([])
        if rows:  # an ARG may come before
            rows[-1].append(instruction)
    return rows


def values(word: str) -> list[str]:
    """Return the values of an instruction in the last stage."""
    return [rest for name, rest in stages()[-1] if name == word]


def test_the_container_is_described_in_words_that_engines_know() -> None:
    known = {
        *("ARG", "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "VOLUME"),
        *("EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }
    assert {word for word, _ in instructions()} <= known
    word, base = instructions()[0]
    assert word == "ARG"
    assert re.fullmatch(r"BASE=\S+/python:3\.\d+-slim-\w+", base)
    assert [stage[0][1] for stage in stages()] == ["${BASE} AS build", "scratch"]


def test_what_is_copied_into_the_image_is_there() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[0] == "*"
    copied: set[str] = set()
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from="):
            copied.update(shlex.split(rest)[:-1])
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored
    needed = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    needed |= {"pyproject.toml", "setup.py", *PROJECT["build-system"]["backend-path"]}
    assert needed <= copied


def test_the_image_runs_as_nobody_and_keeps_its_data() -> None:
    assert values("USER") == ["65534:65534"]
    assert values("VOLUME") == ["/data"]
    assert "--from=build --chown=65534:65534 /image/data /data" in values("COPY")
    last = stages()[-1]
    assert last.index(("USER", "65534:65534")) > max(
        place for place, (word, _) in enumerate(last) if word in ("RUN", "COPY")
    )


def test_the_image_serves_as_its_flags_say() -> None:
    from fairlead.cli.parser import Parser
    from fairlead.process.flags.serve import add_serve_flags

    assert json.loads(values("ENTRYPOINT")[0]) == ["fairlead"]
    command, *flags = json.loads(values("CMD")[0])
    assert command == "serve"
    parser = Parser(prog="fairlead serve")
    add_serve_flags(parser)
    options = parser.parse_args(flags)
    assert options.bind_address == "0.0.0.0"
    assert str(options.data_dir) == values("VOLUME")[0]
    assert values("EXPOSE") == [str(options.secure_port)]
    assert f"KUBECONFIG={options.data_dir}/admin.kubeconfig" in values("ENV")[0].split()


def test_the_image_asks_itself_whether_it_is_well() -> None:
    (check,) = values("HEALTHCHECK")
    program, command, path = json.loads(check.partition("CMD ")[2])
    assert program == "fairlead"
    assert command in COMMANDS
    assert path == "/readyz"


def buildah(*words: str) -> str:
    done = subprocess.run(["buildah", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout.strip()


@pytest.fixture(scope="module")
def container() -> Iterator[str]:
    """Build the image and return a working container of it. FAIRLEAD_IMAGE_BASE can name a base
    image that is there where no registry can be reached."""
    if which("buildah") is None:
        pytest.skip("THE IMAGE WAS NOT BUILT: there is no buildah")
    default = instructions()[0][1].removeprefix("BASE=")
    base = os.environ.get("FAIRLEAD_IMAGE_BASE", default)
    pulled = subprocess.run(["buildah", "pull", base], capture_output=True, text=True, check=False)
    if pulled.returncode:
        pytest.skip(f"THE IMAGE WAS NOT BUILT: {pulled.stderr.strip().splitlines()[-1]}")
    flags = ("--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={base}")
    image = buildah("build", *flags, "--quiet", str(ROOT)).splitlines()[-1]
    name = buildah("from", image)
    try:
        yield name
    finally:
        buildah("rm", name)


@pytest.mark.slow
def test_the_image_is_compiled_and_smaller_than_150_mb(container: str) -> None:
    text = buildah("run", "--isolation", "chroot", container, "fairlead", "version", "--client")
    assert text == f"fairlead {__version__} (compiled)"
    root = Path(buildah("mount", container))
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    assert sum(path.stat().st_size for path in files) < 150_000_000


@pytest.mark.slow
def test_the_image_serves_and_passes_its_health_check(container: str) -> None:
    inside = ["buildah", "run", "--isolation", "chroot", container]
    words = [*inside, "fairlead", *json.loads(values("CMD")[0]), "--secure-port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline().startswith("Fairlead serves on https://")
            health = json.loads(values("HEALTHCHECK")[0].partition("CMD ")[2])
            assert buildah(*inside[1:], *health) == "ok"
            assert buildah(*inside[1:], "python", "-c", "import os; print(os.getuid())") == "65534"
        finally:
            server.terminate()
