"""Collects the files of a small image: `python image.py DIRECTORY ENVIRONMENT`.

The directory gets a virtual environment, the interpreter and the standard library behind it, the
shared libraries that any of them needs, certificates, time zones and the user nobody. An image
needs no shell, no package manager and no compiler; without them it is half the size.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from compileall import compile_dir
from pathlib import Path
from shutil import copy, copytree, ignore_patterns, which

UNUSED = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "pydoc_data"),
    *("config-*", "pip", "pip-*", "setuptools", "setuptools-*", "_tkinter*", "_test*"),
    *("*.a", "*.pyi", "*.pyx", "*.pxd", "*.c", "*.h"),
)
SHARED = ("/etc/ssl", "/usr/share/zoneinfo", "/usr/share/ca-certificates")
FILES = ("/etc/ld.so.cache",)
NOBODY = {
    "passwd": "root:x:0:0::/:/none\nnobody:x:65534:65534::/data:/none\n",
    "group": "root:x:0:\nnobody:x:65534:\n",
    "nsswitch.conf": "hosts: files dns\n",
}
HOME = Path("data")  # of nobody


def add(root: Path, source: Path, *unused: str) -> None:
    """Copy a file or a directory to the same place below the root."""
    target = root / source.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        copytree(source, target, symlinks=True, ignore=ignore_patterns(*unused), dirs_exist_ok=True)
    elif not target.exists():
        copy(source, target)


def programs(root: Path) -> list[Path]:
    """The files of machine code below the root."""
    files = [file for file in root.rglob("*") if file.is_file() and not file.is_symlink()]
    return [file for file in files if file.open("rb").read(4) == b"\x7fELF"]


def libraries(program: Path) -> set[Path]:
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", done.stdout)}


def collect(root: Path, environment: Path) -> None:
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = Path(sys.base_prefix, "bin", name).resolve()
    add(root, environment, *UNUSED)
    for link in (environment / "bin").glob("python*"):
        copied = root / link.relative_to("/")
        copied.unlink()
        copied.symlink_to(interpreter)
    add(root, interpreter)
    for kind in ("stdlib", "platstdlib"):
        library = Path(sysconfig.get_path(kind))
        add(root, library, *UNUSED, "site-packages", "dist-packages")
        # Nobody could write bytecode there later.
        copied_library = str(root / library.relative_to("/"))
        compile_dir(copied_library, quiet=2, stripdir=str(root), prependdir="/")
    for path in (*SHARED, *FILES):
        if Path(path).exists():
            add(root, Path(path))
    for needed in {item for program in programs(root) for item in libraries(program)}:
        if not needed.is_relative_to(root):
            add(root, needed)
    if strip := which("strip"):
        for program in programs(root):
            os.chmod(program, 0o755)
            subprocess.run([strip, "--strip-unneeded", str(program)], check=False)
    for file, text in NOBODY.items():
        (root / "etc" / file).write_text(text)
    (root / "tmp").mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    (root / HOME).mkdir(mode=0o700)
    os.chown(root / HOME, 65534, 65534)


if __name__ == "__main__":
    collect(Path(sys.argv[1]), Path(sys.argv[2]))
