"""Lazy modules: their body runs once, at the first use, from any thread."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import fairlead
from fairlead.base.lazy import MODULES, LazyFinder, LazyModule

SOURCE = Path(fairlead.__file__).parent
Import = Callable[[str], Any]


@pytest.fixture
def lazy_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Import]:
    """Writes a module `lazy_sample` with the given body and imports it lazily."""
    name = "lazy_sample"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [LazyFinder({name}), *sys.meta_path])

    def write_and_import(body: str) -> Any:
        (tmp_path / f"{name}.py").write_text(body)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    yield write_and_import
    sys.modules.pop(name, None)


def test_the_body_of_a_lazy_module_runs_at_the_first_use(
    lazy_import: Import, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    monkeypatch.setattr(sys, "lazy_log", log, raising=False)
    module = lazy_import("import sys\nsys.lazy_log.append('ran')\nvalue = 1\n")
    assert importlib.import_module("lazy_sample") is module
    assert type(module) is LazyModule
    assert log == []
    assert (module.value, module.value) == (1, 1)
    assert log == ["ran"]
    assert type(module) is ModuleType
    assert module.__spec__ is not None
    assert type(module.__spec__.loader) is type(module.__loader__) is type(ast.__loader__)


def test_the_file_of_a_lazy_module_is_looked_for_at_the_first_use(
    lazy_import: Import, tmp_path: Path
) -> None:
    module = lazy_import("value = 1\n")
    (tmp_path / "lazy_sample.py").rename(tmp_path / "elsewhere.py")
    importlib.invalidate_caches()
    with pytest.raises(ModuleNotFoundError, match="lazy_sample"):
        _ = module.value
    (tmp_path / "elsewhere.py").rename(tmp_path / "lazy_sample.py")
    importlib.invalidate_caches()
    assert module.value == 1
    assert module.__file__ == str(tmp_path / "lazy_sample.py")


def test_a_lazy_module_can_use_itself_while_its_body_runs(lazy_import: Import) -> None:
    module = lazy_import("first = 1\nimport lazy_sample\nsecond = lazy_sample.first + 1\n")
    assert module.second == 2


def test_what_is_set_on_a_lazy_module_is_not_overwritten_by_its_body(lazy_import: Import) -> None:
    module = lazy_import("value = 1\n")
    module.value = 2
    assert module.value == 2


def test_a_name_that_a_lazy_module_lacks_is_missing(lazy_import: Import) -> None:
    module = lazy_import("value = 1\n")
    with pytest.raises(AttributeError):
        _ = module.other


def test_a_lazy_module_whose_body_fails_is_tried_again(lazy_import: Import, tmp_path: Path) -> None:
    module = lazy_import("value = 1\nraise OSError('not yet')\n")
    for _ in range(2):
        with pytest.raises(OSError, match="not yet"):
            _ = module.value
    lazy_import("value = 'now'\n")
    assert module.value == "now"


def test_threads_wait_until_the_body_of_a_lazy_module_has_run(lazy_import: Import) -> None:
    module = lazy_import("import time\nearly = 1\ntime.sleep(0.05)\nlate = 2\n")
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(lambda: (module.early, vars(module)["late"])) for _ in range(4)]
    assert [outcome.result() for outcome in results] == [(1, 2)] * 4


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_lazy_module_of_the_table_exists(name: str) -> None:
    """A package cannot be lazy: its modules are found in its directory."""
    assert SOURCE.parent.joinpath(*name.split(".")).with_suffix(".py").is_file()
