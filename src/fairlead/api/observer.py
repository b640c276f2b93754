"""Observes requests: metrics, the audit log, the request log, and which ones are in progress."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from fairlead.api.metrics import Metrics, Series
from fairlead.api.request import Request

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor

OnEnd = Callable[[Request, int, float], None]  # gets the status code and the seconds


class InFlightRequests:
    """The requests in progress, by their task, and the one that is being answered without a
    task."""

    def __init__(self) -> None:
        self._requests: dict[Any, Request] = {}
        self.at_once: Request | None = None

    def __bool__(self) -> bool:
        return bool(self._requests)

    def begin(self, request: Request) -> Any:
        """Register the request of the current task; returns the key for `end`."""
        task = asyncio.current_task()
        self._requests[task] = request
        return task

    def end(self, task: Any) -> None:
        self._requests.pop(task, None)

    def of(self, task: Any) -> Request | None:
        """The request of a task; None stands for a callback."""
        return self._requests.get(task) if task is not None else self.at_once


class Observer:
    """Notes the beginning and the end of every request and stream."""

    def __init__(
        self,
        metrics: Metrics,
        auditor: Auditor | None,
        log_request: OnEnd | None,
        on_end: OnEnd | None,
    ) -> None:
        self.requests = InFlightRequests()
        self._metrics = metrics
        self._auditor = auditor
        self._on_end = on_end
        self.log_with(log_request)
        self._stream_ends: dict[Series, Callable[[bool], None]] = {}

    def log_with(self, log_request: OnEnd | None) -> None:
        """Call this function after each request from now on."""
        self._hooks = tuple(hook for hook in (self._on_end, log_request) if hook is not None)

    def begin(self, request: Request) -> Any:
        """Note a routed request; returns the key for `leave`."""
        if self._auditor is not None:
            self._auditor.begin(request)
        return self.requests.begin(request)

    def leave(self, key: Any, request: Request) -> None:
        """The request's task ends, or continues without it as a detached stream."""
        self.requests.end(key)
        if request.seat is not None:
            request.leave_seat()
        if (
            self._auditor is not None
            and not request.audited.completed
            and not request.exchange.detached
        ):
            self._auditor.ended(request)

    def answered(self, request: Request, code: int, started: float) -> None:
        """Note a complete answer."""
        seconds = perf_counter() - started
        if request.exchange.timed_out:
            self._metrics.terminated(request.target, request.method)
        self._metrics.answered(request, code, seconds)
        if request.trace is not None:
            request.trace.finish(request, code, seconds)
        for hook in self._hooks:
            hook(request, code, seconds)

    def stream_begins(self, request: Request) -> Series:
        return self._metrics.watch_begins(request.target)

    def stream_detached(self, series: Series, request: Request, code: int, started: float) -> None:
        """Note the end of a detached stream when it comes. Without an auditor or hooks, all streams
        of a series share a callback, so that none keeps its request in memory."""
        if self._auditor is not None or self._hooks or request.trace is not None:
            request.exchange.on_complete(partial(self.stream_ended, series, request, code, started))
            return
        on_end = self._stream_ends.get(series)
        if on_end is None:
            on_end = self._stream_ends[series] = partial(self._count_stream_end, series)
        request.exchange.on_complete(on_end)

    def _count_stream_end(self, series: Series, _whole: bool) -> None:
        self._metrics.watch_ends(series)

    def stream_ended(
        self, series: Series, request: Request, code: int, started: float, whole: bool
    ) -> None:
        self._metrics.watch_ends(series)
        seconds = perf_counter() - started
        if request.trace is not None:
            request.trace.finish(request, code, seconds)
        if whole:
            for hook in self._hooks:
                hook(request, code, seconds)
        if self._auditor is not None:
            self._auditor.ended(request)
