"""The files that browsers get: small, our own, and without unsafe code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import fairlead.console
from fairlead.console.files import thin

STATIC = Path(fairlead.console.__file__).parent / "static"
FILES = sorted(path for path in STATIC.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
MAX_BYTES = 480_000
# Ways to have text read as markup or as a program.
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser"
    r"|createContextualFragment|setHTML|\.cssText|createElement\([\"']script"
)
IMPORT = re.compile(r'^(?:import|export) .*?from "([^"]+)";|^import "([^"]+)";', re.M | re.S)
LATER = re.compile(r'\bimport\("([^"]+)"\)')


def name(path: Path) -> str:
    return str(path.relative_to(STATIC))


def sent(path: Path) -> bytes:
    """A file as browsers get it, before it is compressed."""
    content = path.read_bytes()
    return thin(content) if path.suffix in (".js", ".css") else content


def test_all_of_it_is_small() -> None:
    assert sum(len(sent(path)) for path in FILES) < MAX_BYTES


def test_comments_and_indentation_are_not_sent() -> None:
    script = b"/** What\n * it does. */\nexport function a() {\n  // why\n  return '// x';\n\n}\n"
    assert thin(script) == b"export function a() {\nreturn '// x';\n}\n"


def test_remarks_behind_statements_are_not_sent_and_texts_are() -> None:
    assert thin(b"const A = 5; // seconds\n") == b"const A = 5;\n"
    assert thin(b"return /** @type {any} */ (a);\n") == b"return (a);\n"
    assert thin(b'const A = "a; // b";\n') == b'const A = "a; // b";\n'


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_no_template_goes_over_the_end_of_a_line(path: Path) -> None:
    """Indentation would be a part of it, and that is not sent."""
    assert [line for line in path.read_text().splitlines() if line.count("`") % 2] == []


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node to read scripts with")
def test_what_is_sent_can_be_read() -> None:
    scripts = json.dumps([sent(path).decode() for path in SCRIPTS])
    reading = "process.stdin.toArray().then(all => JSON.parse(Buffer.concat(all)).forEach(one => "
    reading += "new (require('node:vm').SourceTextModule)(one)))"
    flags = ["--experimental-vm-modules", "--no-warnings", "-e", reading]
    subprocess.run(["node", *flags], input=scripts, text=True, check=True)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_comes_from_another_host(path: Path) -> None:
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"https?://|[\"'(]//\w", text) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_no_script_makes_markup_of_text(path: Path) -> None:
    assert SINKS.findall(path.read_text()) == []


def imported(script: Path, *, later: bool = False) -> set[Path]:
    """A script and all that it imports, also what it loads when that is needed."""
    paths: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path in paths:
            continue
        paths.add(path)
        text = path.read_text()
        names = ["".join(item) for item in IMPORT.findall(text)]
        names += LATER.findall(text) if later else []
        waiting += [(path.parent / name).resolve() for name in names]
    return paths


def test_every_script_is_used() -> None:
    assert imported(STATIC / "app.js", later=True) == set(SCRIPTS)


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_a_script_does_not_go_over_a_few_screens(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400
