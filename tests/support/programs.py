"""Runs the programs of simulated containers, without a server."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.controllers.simulation.runtime.files import Files
from fairlead.controllers.simulation.runtime.process import Process, Read, Wait, Write, start_first
from fairlead.controllers.simulation.runtime.programs import find_program

MAX_STEPS = 5_000


class Result(NamedTuple):
    code: int | None  # None: it was still running
    output: str
    errors: str
    seconds: float


def run(*words: str, files: Files | None = None, data: bytes = b"") -> Result:
    seconds, texts = 0.0, {1: b"", 2: b""}
    environment = {"HOME": "/root", "GREETING": "good day"}
    process = Process(list(words), files or Files([]), environment, "host", find_program)
    program = start_first(process)
    effect, code = next(program), None
    for _ in range(MAX_STEPS):
        sent = b""
        if isinstance(effect, Write):
            texts[effect.stream] += effect.data
        elif isinstance(effect, Wait):
            seconds += effect.seconds
        elif isinstance(effect, Read):
            sent, data = data, b""
        try:
            effect = program.send(sent)
        except StopIteration as stop:
            code = stop.value
            break
    return Result(code, texts[1].decode(), texts[2].decode(), seconds)


def shell(script: str, **settings: Files | bytes) -> Result:
    return run("/bin/sh", "-c", script, "sh", "first", "second", **settings)  # type: ignore[arg-type]
