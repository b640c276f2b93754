"""The parent process: starts workers on one socket, restarts and stops them, and does nothing else.

It never runs an event loop or a thread, so that it can fork at any time.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fairlead.base.dialect import DIALECTS
from fairlead.base.logs import Logger
from fairlead.process.assembly import StartError
from fairlead.process.banner import banner, print_stop_notice, process_age, show_banner
from fairlead.process.flags.checks import release_of
from fairlead.process.listeners import listen, shown_address
from fairlead.process.service_manager import ServiceManager
from fairlead.process.workers.hangs import HangWatch, Running
from fairlead.process.workers.slot import (
    OWNER,
    READY,
    RELOAD,
    STOP,
    STOP_NOW,
    WorkerSlot,
    contents_file,
    socket_of,
)
from fairlead.storage.workers.page import Page

logger = Logger("fairlead")

Work = Callable[[WorkerSlot], int]

_MIN_PAUSE, _MAX_PAUSE = 0.1, 5.0
_STABLE_SECONDS = 10.0  # seconds; a worker that was ready and lived longer resets its failures
_MAX_FAILURES = 5  # consecutive failures of a worker to become ready again
_SPARE = 10.0  # seconds in addition to the time in which a worker stops by itself
_BACKLOG = 2048
_PREFIX = "fairlead-workers-"


class _Worker:
    """State of a worker in the parent; `pid` is 0 while no process runs."""

    def __init__(self, number: int, listener: socket.socket) -> None:
        self.number = number
        self.listener = listener  # where the other workers connect to it
        self.pid = 0
        self.control: socket.socket | None = None
        self.ready = False
        self.was_ready = False
        self.failures = 0
        self.began = 0.0
        self.due = 0.0  # time of the next start


class Parent:
    """Starts, restarts and stops the workers. `work` runs in the worker and returns its exit
    code."""

    def __init__(
        self, options: argparse.Namespace, work: Work, stop_signals: tuple[signal.Signals, ...]
    ) -> None:
        self._options = options
        self._work = work
        self._page = Page(options.workers)
        self._hangs = HangWatch(self._page)
        self._selector = selectors.DefaultSelector()
        self._stopping = 0  # number of stop requests
        self._kill_at = float("inf")
        self._shares_log = options.storage == "sqlite"
        self._code = 0
        self._is_announced = False
        self._started = time.time()
        self._stop_signals = stop_signals
        self._handled_signals = (*self._stop_signals, signal.SIGHUP, signal.SIGCHLD)
        self._manager = ServiceManager()

    def run(self) -> int:
        """Run until stopped, or until a worker cannot be kept running; return the exit code. Raises
        OSError, StartError."""
        self._listener = listen(self._options)
        self._listener.listen(_BACKLOG)
        self._address = shown_address(self._options, self._listener)
        remove_leftovers(_PREFIX)
        self._directory = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        try:
            self._workers = [
                _Worker(number, self._peer_socket(number))
                for number in range(self._options.workers)
            ]
            return self._look_after()
        finally:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _peer_socket(self, number: int) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = socket_of(self._directory, number)
        try:
            listener.bind(str(path))
        except OSError as error:
            why = error.strerror or str(error)
            raise StartError(f"{path}: {why}; TMPDIR names where such files go") from None
        listener.listen(128)
        return listener

    def _look_after(self) -> int:
        woken, waking = socket.socketpair()
        for end in (woken, waking):
            end.setblocking(False)
        for number in self._handled_signals:
            signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno())
        self._selector.register(woken, selectors.EVENT_READ)
        gc.collect()
        gc.freeze()  # keeps loaded objects in pages that parent and workers share
        while self._is_running():
            self._run_due_actions()
            self._manager.alive()
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is woken:
                    self._on_signal(woken.recv(4096))
                else:
                    self._on_message(key.data)
            self._reap()
        return self._code

    def _is_running(self) -> bool:
        return not self._stopping or any(worker.pid for worker in self._workers)

    def _patience(self) -> float:
        dues = [self._hangs.due, self._kill_at]
        if not self._stopping:
            dues += [worker.due for worker in self._expected_workers()]
        if self._manager.sign_of_life_every is not None:
            dues.append(time.monotonic() + self._manager.sign_of_life_every)
        return max(0.0, min(dues) - time.monotonic())

    # Workers

    def _expected_workers(self) -> list[_Worker]:
        """Return the workers to start. If each follows a store of its own (etcd), worker 0 starts
        alone first: it creates the files that all of them use."""
        if not (self._shares_log or self._workers[OWNER].was_ready):
            return [] if self._workers[OWNER].pid else self._workers[:1]
        return [worker for worker in self._workers if not worker.pid]

    def _start(self, worker: _Worker) -> None:
        mine, its = socket.socketpair()
        signal.pthread_sigmask(signal.SIG_BLOCK, self._handled_signals)
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            mine.close()
            self._run_worker(worker, its, parent)
        worker.pid, worker.control, worker.ready = pid, mine, False
        worker.began = time.monotonic()
        self._page.slot(worker.number).occupy(pid)
        its.close()
        self._selector.register(mine, selectors.EVENT_READ, worker)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._handled_signals)

    def _run_worker(self, worker: _Worker, control: socket.socket, parent: int) -> None:
        """Run a worker in the forked process; never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            for number in self._handled_signals:
                signal.signal(number, signal.SIG_DFL)
            # A terminal sends these to the whole process group, but the parent decides how to stop.
            for number in (signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            end_with(parent)
            for other in self._workers:
                if other.control is not None:
                    other.control.close()
                if other is not worker:
                    other.listener.close()
            self._selector.close()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, self._handled_signals)
            code = self._work(self._new_slot(worker, control))
        except Exception as error:
            detail = error if self._options.verbosity else None
            why = f"{type(error).__name__}: {error}"
            level = logging.CRITICAL
            logger.log(level, "a worker failed", trace=detail, worker=worker.number, err=why)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _new_slot(self, worker: _Worker, control: socket.socket) -> WorkerSlot:
        return WorkerSlot(
            worker.number,
            self._page,
            self._directory,
            self._listener,
            worker.listener,
            control,
            shares_log=self._shares_log,
            started=self._started,
        )

    def _on_message(self, worker: _Worker) -> None:
        assert worker.control is not None
        try:
            received = worker.control.recv(16)
        except OSError:
            received = b""
        if not received:
            self._selector.unregister(worker.control)
        elif READY in received:
            worker.ready = worker.was_ready = True
            if not self._is_announced and all(worker.ready for worker in self._workers):
                self._is_announced = True
                options = self._options
                dialect = DIALECTS[options.dialect]
                url = f"https://{self._address}"
                data_found = contents_file(self._directory).read_text()
                age = process_age()
                message = banner(
                    url,
                    dialect,
                    release_of(options),
                    options.data_dir,
                    age,
                    data_found,
                    options.console,
                    options.simulate_nodes,
                )
                show_banner(message)
                self._manager.ready(f"serving on {url}")

    def _reap(self) -> None:
        for worker in self._workers:
            if not worker.pid:
                continue
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._lost(worker, os.waitstatus_to_exitcode(status))

    def _lost(self, worker: _Worker, code: int) -> None:
        was_ready = worker.ready
        self._page.slot(worker.number).clear()
        worker.pid, worker.ready = 0, False
        if worker.control is not None:
            if worker.control.fileno() in self._selector.get_map():
                self._selector.unregister(worker.control)
            worker.control.close()
            worker.control = None
        if self._stopping:
            self._disconnect_peers(worker)
            in_order = code == 0 or (code == -signal.SIGTERM and not was_ready)
            self._code = self._code or (0 if in_order else 1)
            return
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        lived = time.monotonic() - worker.began
        worker.failures = 1 if was_ready and lived > _STABLE_SECONDS else worker.failures + 1
        if self._is_hopeless(worker, code, was_ready):
            self._code = code if code > 0 else 1
            self._stop()
            return
        pause = 0.0
        if worker.failures > 1:
            pause = min(_MAX_PAUSE, _MIN_PAUSE * 2 ** (worker.failures - 2))
        worker.due = time.monotonic() + pause
        logger.error("a worker is started again", worker=worker.number, reason=how)

    def _is_hopeless(self, worker: _Worker, code: int, was_ready: bool) -> bool:
        """Return whether a worker failed to start for a permanent reason, which it has logged
        itself."""
        if was_ready or code < 0:
            return False
        return not worker.was_ready or worker.failures > _MAX_FAILURES

    def _run_due_actions(self) -> None:
        now = time.monotonic()
        self._kill_hung_workers()
        if self._stopping:
            if now >= self._kill_at:
                self._kill()
            return
        for worker in self._expected_workers():
            if now >= worker.due:
                self._start(worker)

    def _kill_hung_workers(self) -> None:
        """Kill workers that hang. A new one is started when the process has ended, so that the old
        process can write nothing later."""
        running = {
            worker.number: Running(worker.pid, worker.ready)
            for worker in self._workers
            if worker.pid
        }
        for number in self._hangs.hanging(running):
            pid, is_ready = running[number]
            if is_ready:
                logger.error("a worker hangs and is killed", worker=number, pid=pid)
            else:
                logger.error("a worker hangs at its start and is killed", worker=number, pid=pid)
            self._signal(self._workers[number], signal.SIGKILL)

    # Signals

    def _on_signal(self, numbers: bytes) -> None:
        for number in numbers:
            if number in self._stop_signals:
                print_stop_notice(self._stopping + 1)
                self._stop()
            elif number == signal.SIGHUP:
                self._reload()

    def _reload(self) -> None:
        """Ask all workers to read their files again; one that starts reads them anyway."""
        self._manager.reloading()
        for worker in self._workers:
            if worker.ready and worker.control is not None:
                with suppress(OSError):  # it is ending
                    worker.control.send(RELOAD)
        self._manager.ready("serving")

    def _stop(self) -> None:
        """Stop gracefully at the first call, fast at the second, by SIGKILL at the third."""
        self._stopping += 1
        options = self._options
        if self._stopping == 1:
            self._manager.stopping()
            allowed = options.shutdown_delay_duration + 2 * options.shutdown_grace + _SPARE
            self._kill_at = time.monotonic() + allowed
            self._listener.close()  # the socket closes for good when the last worker closes it
        if self._stopping > 2:
            self._kill()
        for worker in self._workers:
            if not worker.pid:
                self._disconnect_peers(worker)
            elif not worker.ready:
                self._signal(worker, signal.SIGTERM)
            elif worker.control is not None:
                with suppress(OSError):  # it is ending already
                    worker.control.send(STOP if self._stopping == 1 else STOP_NOW)

    def _disconnect_peers(self, worker: _Worker) -> None:
        """Let requests of other workers fail that wait for this one: it is not started again."""
        worker.listener.close()

    def _kill(self) -> None:
        self._kill_at = float("inf")
        for worker in self._workers:
            self._signal(worker, signal.SIGKILL)

    def _signal(self, worker: _Worker, number: signal.Signals) -> None:
        if worker.pid:
            os.kill(worker.pid, number)  # not reaped yet, so the pid cannot be reused


# Process-level helpers: workers die with their parent, and leftover files are removed.

_PR_SET_PDEATHSIG = 1


def remove_leftovers(prefix: str) -> None:
    """Remove temporary directories of parents that were killed. Their names consist of the prefix,
    the pid, and a suffix."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        pid = path.name.removeprefix(prefix).partition("-")[0]
        with suppress(OSError):
            if pid.isdigit() and path.lstat().st_uid == os.geteuid() and not _is_alive(int(pid)):
                shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def end_with(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies, even while it is stopped. On other
    systems the worker notices the closed control socket."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
