"""Prints differences as unified diff, or runs the program of FAIRLEAD_EXTERNAL_DIFF."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fairlead.base.terminal import printable
from fairlead.cli.diff.pair import Pair
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.colours import Paint
from fairlead.cli.versions.differences import painted

PROGRAM = "FAIRLEAD_EXTERNAL_DIFF"
FAILED = 2


def show(at: Invocation, pairs: list[Pair]) -> int:
    """Return 0 if nothing differs, else 1; raises CommandFailed with a code above 1."""
    differing = [one for one in pairs if one.live != one.merged]
    if not differing:
        return 0
    command = os.environ.get(PROGRAM)
    if command:
        return _show_with(at, command, differing)
    for one in differing:
        for line in painted(list(_unified(one)), Paint(at.screen)):
            at.screen.print(line)
    return 1


def _unified(one: Pair) -> Iterator[str]:
    from difflib import unified_diff

    names = (f"LIVE/{one.name}", f"MERGED/{one.name}")
    yield f"diff -u -N {names[0]} {names[1]}"
    for line in unified_diff(one.live.splitlines(), one.merged.splitlines(), *names, lineterm=""):
        yield printable(line)


def _show_with(at: Invocation, command: str, pairs: list[Pair]) -> int:
    """Run the program on two folders with the sides; return its exit code 0 or 1, or raise Mistake
    for others."""
    import shlex
    import subprocess
    import tempfile

    at.screen.flush()
    with tempfile.TemporaryDirectory(prefix="fairlead-diff-") as folder:
        sides = []
        for side in ("LIVE", "MERGED"):
            path = Path(folder) / side
            path.mkdir(mode=0o700)
            sides.append(path)
            for one in pairs:
                text = one.live if side == "LIVE" else one.merged
                if text:
                    (path / one.name.replace("/", "_")).write_text(text)
        try:
            words = shlex.split(command)
            done = subprocess.run(
                [*words, *map(str, sides)], stdout=subprocess.PIPE, text=True, check=False
            )
        except (OSError, ValueError) as error:
            raise CommandError(f'failed to run "{command}": {error}', FAILED) from None
    at.screen.out.write(done.stdout)
    if done.returncode > 1 or done.returncode < 0:
        raise CommandError(f'"{command}" failed: exit status {done.returncode}', FAILED)
    return done.returncode
