"""The script that browsers run: all modules of the console in one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fairlead.console.files import own_directory, served_from, thin
from fairlead.console.joining import joined

STATIC = own_directory()
SCRIPTS = {str(path.relative_to(STATIC)): path for path in sorted(STATIC.rglob("*.js"))}
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")


def run(scripts: dict[str, str], first: str, folder: Path) -> str:
    """Join modules, run them and return what they print."""
    program = folder / "joined.mjs"
    program.write_bytes(joined({name: text.encode() for name, text in scripts.items()}, first))
    done = subprocess.run(["node", program], capture_output=True, text=True, check=True)
    return done.stdout


@needs_node
def test_modules_get_what_they_import(tmp_path: Path) -> None:
    scripts = {
        "app.js": (
            'import { Box, size as large } from "./core/box.js";\n'
            'import * as all from "./core/box.js";\n'
            "console.log(new Box().name(), large, Object.keys(all).join());\n"
        ),
        "core/box.js": (
            'import {\n  letter,\n  other,\n} from "../parts/letter.js";\n'
            "export class Box {\n  name() {\n    return letter() + other;\n  }\n}\n"
            "export const size = 3;\n"
            "export async function later() {}\n"
            "export async function* lines() {}\n"
        ),
        "parts/letter.js": (
            'export function letter() {\n  return "a";\n}\nexport const other = "b";\n'
        ),
    }
    assert run(scripts, "app.js", tmp_path) == "ab 3 Box,size,later,lines\n"


@needs_node
def test_a_module_is_run_once_and_only_when_it_is_imported(tmp_path: Path) -> None:
    scripts = {
        "app.js": (
            'console.log("first");\n'
            'const load = () => import("./views/late.js");\n'
            "load().then(load).then(({ name }) => console.log(name));\n"
        ),
        "views/late.js": 'console.log("late");\nexport const name = "loaded";\n',
        "views/never.js": 'console.log("never");\n',
    }
    assert run(scripts, "app.js", tmp_path) == "first\nlate\nloaded\n"


def test_everything_of_our_modules_is_joined() -> None:
    file, _ = served_from(STATIC)["joined.js"]
    text = file.plain.decode()
    assert re.findall(r"^(?:import|export)\b.*|\bimport\(.*", text, re.MULTILINE) == []
    named = set(re.findall(r'\$(?:need|later)\("([^"]+)"\)', text))
    assert named == set(SCRIPTS)


def test_names_of_the_joined_script_are_in_no_module() -> None:
    used = {
        name
        for name, path in SCRIPTS.items()
        if re.search(r"\$(need|made|later|modules)\b", path.read_text())
    }
    assert used == set()


def test_static_imports_have_no_cycles() -> None:
    """A module that is imported while it runs has no exports yet."""
    imports = {}
    for name, path in SCRIPTS.items():
        text = joined({name: thin(path.read_bytes())}, name).decode()
        imports[name] = set(re.findall(r'= \$need\("([^"]+)"\);', text))
    waiting = dict(imports)
    while done := {name for name, needed in waiting.items() if not needed & waiting.keys()}:
        for name in done:
            del waiting[name]
    assert sorted(waiting) == []
