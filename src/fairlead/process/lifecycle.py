"""Runs a server from start to stop."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable, Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.api import tracing as api_tracing
from fairlead.api.app import Application
from fairlead.api.audit import own_operations
from fairlead.api.audit import setup as audit_setup
from fairlead.api.audit.flags import wants_audit
from fairlead.api.health import OBJECTS, PARTS, STORE, WORK, Progress
from fairlead.api.stalls import StallMonitor
from fairlead.base.dialect import DIALECTS, Dialect
from fairlead.base.logs import Logger, log_exit_reason
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.process import encryption, store_overrides
from fairlead.process.assembly import Assembly, StartError
from fairlead.process.backup import UNFINISHED
from fairlead.process.banner import (
    banner,
    describe_contents,
    print_stop_notice,
    process_age,
    show_banner,
)
from fairlead.process.certificates.authority import Pki
from fairlead.process.certificates.renewal import Renewal
from fairlead.process.certificates.serving import ClientTrust, ServingCertificates
from fairlead.process.data_directory import FileError, keep_private, prepare_directory
from fairlead.process.flags.checks import planned_flags, release_of
from fairlead.process.handlers import build_application
from fairlead.process.listeners import Acceptor, listen, shown_address
from fairlead.process.reloader import Reloader, reloadable_parts
from fairlead.process.service_manager import ServiceManager
from fairlead.process.stored_release import adopt_release, check_release, follow_release
from fairlead.process.stores import check_dialect, embedded_log, etcd_log, store_over
from fairlead.process.tasks import Supervisor
from fairlead.process.tracing import configuration as tracing_configuration
from fairlead.process.tracing import exporter as tracing_exporter
from fairlead.process.workers import parent as parent_process
from fairlead.process.workers import worker as worker_process
from fairlead.resources.gates import is_default
from fairlead.resources.registry import Resources
from fairlead.storage.backend import StorageError
from fairlead.storage.derived_cache import FORMS
from fairlead.storage.log import Log
from fairlead.storage.store import Store
from fairlead.wire.incoming.batches import Batch
from fairlead.wire.incoming.connections import Connections, first_of
from fairlead.wire.incoming.limits import Limits
from fairlead.wire.incoming.protocol import HttpProtocol
from fairlead.wire.incoming.tls import TlsConnection

if TYPE_CHECKING:
    from fairlead.api.audit.auditor import Auditor
    from fairlead.process.tracing.exporter import Exporter
    from fairlead.process.workers.slot import WorkerSlot

logger = Logger("fairlead")

# Longest time for which a busy thread keeps the GIL from the event loop; Python's default is 5 ms.
_SWITCH_SECONDS = 0.0005


class FatalError(Exception):
    """The server had to stop; the message is for its operator."""


class Server:
    """One process that serves a data directory, alone or as one of several workers."""

    def __init__(
        self, options: argparse.Namespace, worker: worker_process.Worker | None = None
    ) -> None:
        self.options = options
        self._worker = worker
        self.dialect: Dialect = DIALECTS[options.dialect]
        self.release = release_of(options)
        self.stopping = asyncio.Event()
        self.ready = False
        self._stop_now = asyncio.Event()
        self._failure = ""
        self._contents = ""  # description of the store's contents at start
        self._shutting_down = False
        self._supervisor = Supervisor(self.fail)
        self._progress = Progress()
        self._certificates = ServingCertificates(options, self.dialect)
        self._manager = ServiceManager()
        self._reloader: Reloader | None = None
        self._encryption: encryption.ServerEncryption | None = None
        self.overrides: dict[str, Store] = {}  # stores of other clusters, by resource

    async def run(self) -> None:
        """Serve until stopped; raises StartError, and FatalError after having served."""
        options = self.options
        sys.setswitchinterval(_SWITCH_SECONDS)
        for name in planned_flags(options):
            logger.warning("a flag is accepted but has no effect in this release yet", flag=name)
        if self._worker is not None:
            self._supervisor.start("telling the parent that this worker runs", self._worker.beat)
            self._worker.worker_slot.listen_to_parent(
                self.stopping.set, self._stop_now.set, self._reload
            )
        listener = listen(options) if self._worker is None else self._worker.worker_slot.listener
        self.address = shown_address(options, listener)
        port: int = listener.getsockname()[1]
        partial_keys = is_default("PartialKeys", self.release)
        types = BuiltinTypes(self.dialect, self.release, partial_keys)
        resources = Resources(self.dialect, types)
        self.store = await self._open_store(options.data_dir, resources)
        self._progress.done(STORE)
        try:
            await self._serve_from_store(resources, listener, port)
        finally:
            if self._worker is not None:
                await self._worker.close()
            for store in (self.store, *dict.fromkeys(self.overrides.values())):
                await store.close()
        if self._failure:
            raise FatalError(self._failure)

    async def _serve_from_store(
        self, resources: Resources, listener: socket.socket, port: int
    ) -> None:
        options = self.options
        pki = self._certificates.pki()
        self.assembly = Assembly(
            options,
            self.dialect,
            self.store,
            pki,
            resources,
            self.address,
            leads=self._worker is None or self._worker.leads,
            overrides=self.overrides,
        )
        self.api = self.assembly.api
        self._encryption = self._keep_encrypting(resources)
        auditor = self._audit(resources)
        try:
            await self._serve_parts(pki, auditor, listener, port)
        finally:
            if auditor is not None:
                await auditor.close()

    async def _serve_parts(
        self, pki: Pki, auditor: Auditor | None, listener: socket.socket, port: int
    ) -> None:
        self._progress.done(PARTS)
        await self._prepare_objects(port)
        worker = self._worker
        if worker is not None:
            await worker.open()
        slot = worker.slot if worker is not None else None
        application = self._application(auditor)
        exporter = self._exporter()
        if exporter is not None:
            trusts = self.api.gates["TrustedTraceContext"]
            application.tracer = api_tracing.RequestTracer(exporter.tracer, trusts=trusts)
            self._supervisor.start("export of traces", exporter.run)
        connections = Connections(self._limits(), application, slot)
        stalls = StallMonitor(application.observer.requests)
        trust = self._certificates.trust(pki, self.api.authentication.authorities)
        server = self._serve(listener, connections, trust)
        url = f"https://{self.address}"
        keeps_files = worker is None or worker.keeps_files
        renewal = self._certificates.renewal(pki, trust, url, keeps_files=keeps_files)
        self._supervise(connections, renewal)
        parts = reloadable_parts(self.assembly, renewal, auditor, self._encryption, application)
        self._reloader = Reloader(parts, self._manager, reports=keeps_files)
        self._supervisor.start("reloading", self._reloader.run)
        self._progress.done(WORK)
        self._handle_signals()
        tune_garbage_collector()
        stalls.start()
        self.ready = True
        self._announce(url)
        await self.stopping.wait()
        stalls.stop()
        await self._shut_down(server, connections)
        if exporter is not None:
            await exporter.close()

    async def _prepare_objects(self, port: int) -> None:
        worker = self._worker
        if worker is None or worker.leads:
            if not self.options.read_only:
                await adopt_release(self.api)
            await self.assembly.prepare(port)
        else:
            self.assembly.mark_prepared()
        self._progress.done(OBJECTS)

    def _announce(self, url: str) -> None:
        """Tell the parent, or the user and the service manager, that the server is ready."""
        if self._worker is not None:
            self._worker.notify_ready(self._contents)
            return
        message = banner(
            url,
            self.dialect,
            self.release,
            self.options.data_dir,
            process_age(),
            self._contents,
            self.options.console,
            self.options.simulate_nodes,
        )
        show_banner(message)
        self._manager.ready(f"serving on {url}")

    def fail(self, why: str) -> None:
        """Stop after an unrecoverable error, with a non-zero exit code."""
        logger.critical("the server must stop", err=why)
        self._failure = self._failure or why
        self.stopping.set()

    async def _open_store(self, directory: Path, resources: Resources) -> Store:
        """Open the store. This comes before any file is written, because another server may hold
        the lock of the directory."""
        try:
            if self._worker is not None and self._worker.worker_slot.follows_owner:
                keep_private()
            else:
                prepare_directory(directory)
            FORMS.limit = self.options.kept_forms_memory
            clusters = store_overrides.clusters_of(self.options, resources)
            store = store_over(self.options, self._log(resources, clusters))
            await store.open()
            self._contents = describe_contents(store, self.options.storage)
            if len(store.collection(UNFINISHED)):
                raise StartError("the store is incomplete: a restore was interrupted")
            check_dialect(store, self.dialect)
            check_release(store, self.release, self.options.read_only)
            follow_release(store, self.release, self.fail)
            if self._worker is not None:
                self._worker.share_store(store)
            self.overrides = await store_overrides.open_overrides(self.options, resources, clusters)
        except (FileError, StorageError) as error:
            raise StartError(str(error)) from None
        return store

    def _log(self, resources: Resources, elsewhere: Container[str]) -> Log:
        """Return the log of the main store, which has all resources that no other store has."""
        worker = self._worker
        if self.options.storage == "etcd":
            return etcd_log(self.options, resources, holds=lambda name: name not in elsewhere)
        if worker is not None and worker.worker_slot.follows_owner:
            return worker.followed_log()
        scratch = worker.worker_slot.directory if worker is not None else None
        log = embedded_log(self.options, self.dialect, resources, scratch)
        if worker is not None:
            worker.share_log(log)
        return log

    def _keep_encrypting(self, resources: Resources) -> encryption.ServerEncryption | None:
        """Ask the plugins that encrypt the store of this process, and add their health checks."""
        if self.options.encryption_provider_config is None:
            return None
        try:
            kept = encryption.ServerEncryption(self.options, resources)
            self.assembly.store_checks = kept.checks()
        except (StorageError, OSError) as error:
            raise StartError(str(error)) from None
        return kept

    def _audit(self, resources: Resources) -> Auditor | None:
        """Return the audit log, which also records the operations of the server's own parts."""
        if not wants_audit(self.options):
            return None
        try:
            locks = self._worker.worker_slot.directory if self._worker is not None else None
            auditor = audit_setup.build_auditor(self.options, self.dialect, resources, locks)
        except audit_setup.AuditError as error:
            raise StartError(str(error)) from None
        if auditor is not None:
            self.api.auditor = own_operations.OwnOperations(auditor)
        return auditor

    def _exporter(self) -> Exporter | None:
        """Return the exporter of traces, if some are configured."""
        file = self.options.tracing_config_file
        if file is None:
            return None
        try:
            read = tracing_configuration.read_tracing(file, self.api.types, self.api.gates)
        except ConfigurationError as error:
            raise StartError(str(error)) from None
        return tracing_exporter.Exporter(read, self.address)

    def _application(self, auditor: Auditor | None) -> Application:
        return build_application(
            self.options,
            self.assembly,
            self.address,
            self._progress,
            lambda: self._shutting_down,
            self._worker,
            auditor,
        )

    def _limits(self) -> Limits:
        options = self.options
        return Limits(
            request_seconds=options.request_timeout or float("inf"),
            connections=options.max_connections,
            connections_of_an_address=options.max_connections_per_address,
        )

    def _serve(
        self, listener: socket.socket, connections: Connections, trust: ClientTrust
    ) -> Acceptor:
        loop = asyncio.get_running_loop()
        batch = Batch(loop)

        def connect(accepted: socket.socket, address: Any) -> None:
            protocol = HttpProtocol(connections, loop)
            TlsConnection(accepted, address, trust.context(), protocol, loop, batch)

        return Acceptor(listener, self._worker.slot if self._worker else None, connect)

    def _supervise(self, connections: Connections, renewal: Renewal) -> None:
        start = self._supervisor.start
        start("renewal of certificates", renewal.run)
        start("looking after connections", connections.enforce_deadlines)
        for store in self.api.stores:
            start("compaction", store.keep_compacting)
        if self._worker is not None and self._worker.worker_slot.owns_log:
            start("telling workers of the store", self._worker.publish_health)
        if self._manager.sign_of_life_every is not None:
            start("signs of life", self._manager.keep_alive)
        if self._encryption is not None and self._encryption.reloads:
            start("reloading the encryption", self._encryption.run)
        for work in self.assembly.background():
            start(getattr(work, "__qualname__", "background work"), work)

    def _reload(self) -> None:
        if self._reloader is not None:
            self._reloader.request()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        if self._worker is not None:  # the parent requests a fast stop through the control socket
            loop.add_signal_handler(signal.SIGTERM, self.stopping.set)
            return
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self._stop)
        loop.add_signal_handler(signal.SIGHUP, self._reload)

    def _stop(self) -> None:
        """Stop gracefully at the first signal, at once at the second."""
        print_stop_notice(2 if self.stopping.is_set() else 1)
        if self.stopping.is_set():
            self._stop_now.set()
        self.stopping.set()

    async def _shut_down(self, server: Acceptor, connections: Connections) -> None:
        """Fail readiness, wait for load balancers to notice, close the listener, finish open
        requests."""
        self._shutting_down = True
        self._manager.stopping()
        logger.info("shutting down")
        await self.assembly.leave()
        await first_of(self._stop_now, asyncio.sleep(self.options.shutdown_delay_duration))
        server.close()
        for store in self.api.stores:
            store.end_watches()
        if self.api.simulated is not None:
            self.api.simulated.stop_waiting()
        grace = self.options.shutdown_grace
        await connections.drain(grace, self._stop_now)
        if self._worker is not None:
            await first_of(self._stop_now, self._worker.followers_gone(grace))
        await self._supervisor.stop()
        await self.assembly.close()


def tune_garbage_collector() -> None:
    """Collect young objects less often, in batches small enough not to delay requests, and never
    again the objects that exist now: requests leave no cycles behind, and the cost of full
    collections grows with the number of stored objects."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 2_000)
    gc.enable()


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def serve(options: argparse.Namespace, run: Callable[..., None]) -> int:
    """Run a server, or a parent with workers; return the exit code."""
    # A terminal that closes, or an early request to reload, must not end the process.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if options.workers > 1:
        return _serve_together(options, run)

    async def main() -> None:
        await Server(options).run()

    return _exit_code(lambda: run(main()))


def _serve_together(options: argparse.Namespace, run: Callable[..., None]) -> int:
    make_worker = worker_process.Worker  # loaded before the fork: workers share its memory

    async def work(slot: WorkerSlot) -> None:
        await Server(options, make_worker(slot, options.workers)).run()

    parent = parent_process.Parent(
        options, lambda slot: _exit_code(lambda: run(work(slot))), STOP_SIGNALS
    )
    return _exit_code(parent.run)


def _exit_code(run: Callable[[], int | None]) -> int:
    try:
        return run() or 0
    except (StartError, FatalError) as error:
        log_exit_reason(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
