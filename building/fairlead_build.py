"""How the package is built: by setuptools, as plain Python unless the environment variable
FAIRLEAD_COMPILE is 1. Then mypyc compiles the hot modules, and the build fails if it cannot.

A wheel is built in a copy of the project, because pip builds in the checkout itself: builds at the
same time would share files there, such as mypy's cache, whose database only one of them can lock.
Editable installations stay plain: compiled modules would hide later changes of their sources.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from shutil import copy, copytree, ignore_patterns
from typing import Any

from setuptools import Extension, build_meta
from setuptools.build_meta import (
    get_requires_for_build_editable,
    prepare_metadata_for_build_editable,
)
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution
from setuptools.modified import newer_group

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# The modules worth compiling; docs/performance.md has the gain of each group.
MODULES = """
base: backlog deferred meter metrics
codec: bodies protobuf_wire yaml_blocks yaml_scalars
codec/messages: layout reader scalars writer
codec/types: decode defaults durations memo model names quantity required_fields scalars
codec/types: times
fields: check conflicts entries field_sets merge_patch ownership prune shapes
fields: stored_entries typed_values unchanged values walk
storage: audience backend body_metadata collection delivery state version writes
wire/incoming: batches exchange parser protocol tls
resources: behaviour catalogue context gated_fields gates go_values metadata registry rules
resources/columns: cell_text model
resources/core: config_maps
resources/core/pods: annotations behaviour changes columns container_lists containers defaults
resources/core/pods: difference environment go_text handlers mounts resources scheduling
resources/core/pods: security spec warnings windows
resources/core/volumes: __init__ paths projections references sources
auth/authentication: authorities tokens
auth/authorization: node_graph pod_references requests
admission: chain
admission/plugins: base default_toleration_seconds namespace_lifecycle priority runtime_class
admission/plugins: service_account
admission/plugins/pod_security: plugin
operations: api apply configurations create managed_fields operation options patch update
operations: views write write_pipeline
api: answers app body chain methods metrics negotiation observer parameters patch
api: representation request routing stored_tables verbs watch_frames watch_sockets watch_stream
api/flow_control: borrowing configuration gate metrics queue_set
controllers: subscription versions
controllers/garbage: references
controllers/nodes: pods_by_node
controllers/volumes: pods
controllers/workloads: owners
"""
COMPILER = "mypy[mypyc]>=1.13,<3"
LIBRARY = "fairlead"  # gives its name to the library behind all compiled modules
RECORD = "compiler.txt"  # in the package, read by fairlead/base/compiled.py

# pip builds without the other packages, so mypyc ignores them everywhere and its result does not
# depend on where it runs. `make lint` checks types with them.
_CHECKS = (
    *("--config-file=", "--cache-dir=/dev/null", "--no-site-packages"),
    *("--follow-imports=silent", "--ignore-missing-imports"),
)
_BUILDING = {"bdist_wheel", "build"}
# Calls from module to module go straight to their target instead of through a table that others
# could change: a fifth of the time of a get on ARM.
_FLAGS = ["-fvisibility=hidden"] * (os.name == "posix")
_PLACE = Path("build")
# What a build reads, and what else goes into an sdist.
_PROJECT = "pyproject.toml setup.py MANIFEST.in README.md LICENSE CHANGELOG.md Containerfile"
_PROJECT += " building src"


def _groups() -> Iterator[list[str]]:
    """The files of each line of MODULES, from the root of the project."""
    for package, _, names in (line.partition(":") for line in MODULES.split("\n") if line):
        yield [str(Path("src/fairlead", package, f"{name}.py")) for name in names.split()]


def sources() -> list[str]:
    """The files of the modules that are compiled, from the root of the project."""
    return [source for group in _groups() for source in group]


def wants_compilation() -> bool:
    """Read FAIRLEAD_COMPILE."""
    value = os.environ.get("FAIRLEAD_COMPILE", "")
    if value not in ("", "0", "1"):
        raise SystemExit(f"FAIRLEAD_COMPILE must be 0 or 1, not {value!r}")
    return value == "1"


def _print_progress(text: str) -> None:
    print(f"fairlead: {text}", file=sys.stderr, flush=True)


def _try_compiler() -> None:
    """Build a small extension, before minutes are spent."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_VERSION_HEX != 0; }\n")
        command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(source)])]}))
        command.build_lib = command.build_temp = directory
        try:
            command.ensure_finalized()
            command.run()
        except Exception as error:  # an incomplete compiler raises many kinds
            raise SystemExit(
                f"fairlead cannot be compiled: {error}\n"
                "It needs a C compiler and the headers of Python (gcc and python3-dev on Debian); "
                "without FAIRLEAD_COMPILE=1 it is plain Python."
            ) from error


def extensions(words: list[str]) -> list[Extension]:
    """Return the extensions that a command of setuptools builds: none if compilation is not wanted
    or the command builds no wheel or copy."""
    if not wants_compilation() or not _BUILDING.intersection(words):
        return []
    _lock()
    _try_compiler()
    _print_progress(f"compiling 1 of 2: mypyc turns {len(sources())} modules into C")
    from mypyc.build import mypycify

    messages = StringIO()
    try:
        with redirect_stdout(messages), redirect_stderr(messages):
            compiled: list[Any] = mypycify(
                [*_CHECKS, *sources()],
                group_name=LIBRARY,
                debug_level="0",
                opt_level="1",
                multi_file=True,
                target_dir=str(_PLACE),
            )
    except SystemExit as error:
        lines = [line for line in messages.getvalue().splitlines() if ": warning: " not in line]
        raise SystemExit("\n".join(["fairlead cannot be compiled by mypyc:", *lines])) from error
    for extension in compiled:  # which share one list
        extension.extra_compile_args = [*extension.extra_compile_args, *_FLAGS]
    compiled[0].sources = _joined(compiled[0].sources)
    return compiled


def _lock() -> None:
    """Lock the build directory until this process ends; waits for other builds."""
    _PLACE.mkdir(exist_ok=True)
    fcntl.flock(os.open(_PLACE / "lock", os.O_CREAT | os.O_WRONLY), fcntl.LOCK_EX)


def _joined(files: list[str]) -> list[str]:
    """Join the C files of each line of MODULES: the compiler reads the headers once for all of
    them, a quarter of its work. A file whose text stays the same is not written again."""
    rest, joined = set(files), []
    for number, group in enumerate(_groups()):
        parts = []
        for source in group:
            name = source.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
            parts.append(_PLACE / f"__native_{name.replace('/', '___')}.c")
        rest.difference_update(map(str, parts))
        file = _PLACE / f"__joined_{number}.c"
        text = "".join(part.read_text() for part in parts)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        joined.append(str(file))
    return [*sorted(rest), *joined]


class BuildExtensions(build_ext):
    """Builds all compiled modules: they share one library, whose files are compiled side by side.
    Files that have not changed since the last build are left alone."""

    def build_extensions(self) -> None:
        compiler: Any = self.compiler
        compile_some = compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            objects = compiler.object_filenames(sources, output_dir=options["output_dir"])
            needed = [*options["depends"], __file__]
            stale = [
                source
                for source, target in zip(sources, objects, strict=True)
                if newer_group([source, *needed], target)
            ]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                parts = pool.map(lambda source: compile_some([source], **options), stale)
                for number, _ in enumerate(parts, 1):
                    if len(stale) > 1:
                        _print_progress(f"compiling 2 of 2: {number} of {len(stale)} files")
            return list(objects)

        self._precompile_headers()
        compiler.compile = compile_all
        super().build_extensions()

    def _precompile_headers(self) -> None:
        """Precompile Python.h for the small files that load the library, one a module: reading it
        is most of their work. Compilers other than gcc read it as ever."""
        compiler: Any = self.compiler
        header = Path(self.build_temp, "headers", "Python.h")
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("#include_next <Python.h>\n")
        _, *loaders = self.extensions
        flags = [flag for flag in loaders[0].extra_compile_args if flag != "-Werror"]
        includes = [f"-I{place}" for place in (*loaders[0].include_dirs, *self.include_dirs)]
        command = [*compiler.compiler_so, *includes, "-x", "c-header", str(header)]
        command += ["-o", f"{header}.gch", *flags]
        done = subprocess.run(command, capture_output=True, check=False)
        for loader in loaders if done.returncode == 0 else ():
            loader.include_dirs = [str(header.parent), *loader.include_dirs]

    def run(self) -> None:
        super().run()
        if self.extensions:
            compiler: Any = self.compiler
            command = [compiler.compiler_so[0], "--version"]
            answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            text = f"mypyc {version('mypy')}, {answer.splitlines()[0]}\n"
            Path(self.build_lib, "fairlead", RECORD).write_text(text)


class BuildModules(build_py):
    """Copies the sources and records that nothing is compiled, until something is. Files that an
    earlier build left there are removed: compiled modules would hide their sources."""

    def run(self) -> None:
        kept: set[Path] = set()
        if self.distribution.ext_modules:
            compiling = self.get_finalized_command("build_ext")
            assert isinstance(compiling, build_ext)
            kept = {Path(file) for file in compiling.get_outputs()}
        for file in Path(self.build_lib).rglob("*"):
            if file.is_file() and file not in kept:
                file.unlink()
        super().run()
        if not self.editable_mode:
            Path(self.build_lib, "fairlead", RECORD).write_text("none\n")


@contextmanager
def _own_copy() -> Iterator[None]:
    """Work in a copy of the project."""
    unwanted = ignore_patterns("__pycache__", "*.egg-info", "*.so")
    with tempfile.TemporaryDirectory(prefix="fairlead-build-") as directory:
        for path in map(Path, _PROJECT.split()):
            if path.is_dir():
                copytree(path, Path(directory, path), ignore=unwanted)
            elif path.exists():
                copy(path, directory)
        with chdir(directory):
            yield


def _quiet(config_settings: Any) -> dict[str, Any]:
    """Stop setuptools from listing every file, which would bury errors."""
    return {"--global-option": "--quiet", **(config_settings or {})}


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    target = os.path.abspath(wheel_directory)
    metadata = metadata_directory and os.path.abspath(metadata_directory)
    with _own_copy():
        return build_meta.build_wheel(target, _quiet(config_settings), metadata)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    target = os.path.abspath(sdist_directory)
    with _own_copy():
        return build_meta.build_sdist(target, _quiet(config_settings))


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    if wants_compilation():
        raise SystemExit("an editable installation cannot be compiled; `make compile` makes a copy")
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    target = os.path.abspath(metadata_directory)
    with _own_copy():
        return build_meta.prepare_metadata_for_build_wheel(target, _quiet(config_settings))


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Require mypyc only for a compiled build."""
    return [COMPILER] * wants_compilation()
