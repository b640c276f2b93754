"""Programs that listen on ports."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.controllers.simulation.runtime.process import Process, Program, SignalArrived, Wait
from fairlead.controllers.simulation.runtime.surroundings import Listener


def serve(
    process: Process, listeners: Mapping[tuple[str, int], Listener], delay: float = 0.0
) -> Program:
    """Listen until the process is stopped; `delay` is how many seconds after SIGTERM it goes on."""
    shared = process.surroundings
    shared.listeners.update(listeners)
    signals = process.signals
    try:
        if signals is not None:
            signals.traps["TERM"], signals.is_waiting = signals.traps.get("TERM") or "exit", True
        yield Wait(float("inf"))
    except SignalArrived:
        shared.is_ending = True
        if delay:
            yield Wait(delay)
    finally:
        for key, listener in listeners.items():
            if shared.listeners.get(key) is listener:
                del shared.listeners[key]
    return 0
