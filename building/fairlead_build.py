"""How the package is built: by setuptools, with its hot modules compiled by mypyc where that can be
done.

The environment variable FAIRLEAD_COMPILE says what is wanted: 0 for plain Python, 1 for compiled
modules or no package at all. Otherwise they are compiled if there is a C compiler with the headers
of Python, and the package is plain Python if there is none. Editable installations stay plain:
compiled modules would go on to be used when their sources have changed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

# Those that pay; docs/performance.md has what each group of them gives.
MODULES = """
base: backlog meter metrics
codec: bodies protobuf_wire
codec/messages: layout reader scalars writer
codec/types: decode defaults memo model names quantity required scalars times
fields: check conflicts entries field_sets merge_patch ownership prune shapes
fields: stored_entries typed_values unchanged values walk
storage: audience backend body_metadata collection delivery state version writes
wire/incoming: batches exchange parser protocol tls tls_records
resources: catalogue context gates go_values metadata registry rules
resources/columns: cell_text model
resources/core: config_maps
resources/core/pods: annotations behaviour changes columns container_lists containers defaults
resources/core/pods: difference environment go_text handlers mounts resources scheduling
resources/core/pods: security spec warnings windows
resources/core/volumes: __init__ paths projections references sources
auth/authentication: tokens
auth/authorization: node_graph pod_references requests
admission/plugins: base default_toleration_seconds namespace_lifecycle priority runtime_class
operations: api configurations managed_fields operation options patch steps views
operations: write_pipeline
api: answers app body chain methods metrics negotiation observer parameters patch
api: representation request routing stored_tables watch_frames watch_sockets watch_stream
api/flow_control: configuration gate metrics queue_set
controllers: subscription versions
controllers/garbage: references
controllers/nodes: pods_by_node
controllers/volumes: pods
controllers/workloads: owners
"""
COMPILER = "mypy[mypyc]>=1.13,<3"
LIBRARY = "fairlead"  # gives its name to the library behind all compiled modules

# What is imported need not be installed to be compiled against, and is checked by `make lint`.
_CHECKS = ("--config-file=", "--follow-imports=silent", "--ignore-missing-imports")
_BUILDING = {"bdist_wheel", "build"}
# Calls from module to module go straight to their target instead of through a table that others
# could change: a fifth of the time of a get on ARM.
_FLAGS = ["-fvisibility=hidden"] * (os.name == "posix")


def sources() -> list[str]:
    """The files of the modules that are compiled, from the root of the project."""
    return [
        str(Path("src/fairlead", package, f"{name}.py"))
        for package, _, names in (line.partition(":") for line in MODULES.split("\n") if line)
        for name in names.split()
    ]


def wish() -> str:
    """What FAIRLEAD_COMPILE says: `0`, `1`, or nothing."""
    said = os.environ.get("FAIRLEAD_COMPILE", "")
    if said not in ("", "0", "1"):
        raise SystemExit(f"FAIRLEAD_COMPILE must be 0 or 1, not {said!r}")
    return said


def has_compiler() -> bool:
    """Whether a small extension can be built here: there are a compiler and the headers."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory, "probe.c")
        source.write_text("#include <Python.h>\nint probe(void) { return PY_VERSION_HEX != 0; }\n")
        command = build_ext(Distribution({"ext_modules": [Extension("probe", [str(source)])]}))
        command.build_lib = command.build_temp = directory
        try:
            command.ensure_finalized()
            command.run()
        except Exception:  # whatever a compiler that is half there may raise
            return False
    return True


def extensions(words: list[str]) -> list[Extension]:
    """What a command of setuptools is to compile: nothing if it builds no wheel or copy, and where
    it is not wanted or cannot be done."""
    if wish() == "0" or not _BUILDING.intersection(words):
        return []
    try:
        if not has_compiler():
            raise RuntimeError("there is no C compiler with the headers of Python")
        from mypyc.build import mypycify

        made: list[Any] = mypycify(
            [*_CHECKS, *sources()],
            group_name=LIBRARY,
            debug_level="0",
            opt_level="2",
            multi_file=True,
        )
        for extension in made:  # which share one list
            extension.extra_compile_args = [*extension.extra_compile_args, *_FLAGS]
        return made
    except (Exception, SystemExit) as error:
        _give_up(error)
        return []


def _give_up(error: BaseException) -> None:
    why = "mypyc stopped, see above" if isinstance(error, SystemExit) else error
    if wish() == "1":
        raise SystemExit(f"fairlead cannot be compiled: {why}") from error
    print(f"fairlead: not compiled, plain Python is used: {why}", file=sys.stderr, flush=True)


class BuildExtensions(build_ext):
    """Builds all compiled modules or none: they share one library, whose parts are compiled side by
    side."""

    def build_extensions(self) -> None:
        compiler: Any = self.compiler
        compile_some = compiler.compile

        def compile_all(sources: list[str], **options: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                parts = pool.map(lambda source: compile_some([source], **options), sources)
                return [made for part in parts for made in part]

        compiler.compile = compile_all
        super().build_extensions()

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            for file in self.get_outputs():
                Path(file).unlink(missing_ok=True)
            self.extensions = self.distribution.ext_modules = []
            _give_up(error)


class BuildModules(build_py):
    """Copies the sources; compiled modules that an earlier build left there would hide them."""

    def run(self) -> None:
        made: set[Path] = set()
        if self.distribution.ext_modules:
            compiling = self.get_finalized_command("build_ext")
            assert isinstance(compiling, build_ext)
            made = {Path(file) for file in compiling.get_outputs()}
        for file in Path(self.build_lib).rglob("*.so"):
            if file not in made:
                file.unlink()
        super().run()


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """The compiler of Python is asked for only where a compiler of C can follow it."""
    wanted = wish() == "1" or (wish() != "0" and has_compiler())
    return [*build_meta.get_requires_for_build_wheel(config_settings), *([COMPILER] * wanted)]
