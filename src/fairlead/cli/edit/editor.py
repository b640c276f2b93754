"""Runs the user's editor on a temporary file that only the user can read."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from pathlib import Path

from fairlead.cli.errors import CommandError

_VARIABLES = ("KUBE_EDITOR", "EDITOR")
_USUAL = "vi"


def new_file(ending: str) -> Path:
    handle, name = tempfile.mkstemp(prefix="fairlead-edit-", suffix=ending)
    os.close(handle)
    return Path(name)


async def edited(path: Path, text: str) -> str:
    """The text after editing; raises Mistake."""
    command = next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), _USUAL)
    await asyncio.to_thread(path.write_text, text)
    try:
        process = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
    except (OSError, ValueError) as error:
        raise CommandError(f"the editor does not start: {command}: {error}") from None
    if await process.wait():
        raise CommandError(f"the editor failed: {command}")
    try:
        return await asyncio.to_thread(path.read_text)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the edited file cannot be read: {error}") from None
