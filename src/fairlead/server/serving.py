"""Running a server from start to stop."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

from uvicorn.config import Config
from uvicorn.server import ServerState

from fairlead import __version__
from fairlead.authentication.account_tokens import CONFIGURATION_PATH, JWKS_PATH
from fairlead.dialect import DIALECTS, Dialect
from fairlead.endpoints import discovery
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.chain import Handler
from fairlead.endpoints.openapi import OpenApi
from fairlead.endpoints.request import Request
from fairlead.kinds.resources import Resources
from fairlead.schema.builtin import BuiltinTypes
from fairlead.server.app import Application
from fairlead.server.assembly import Assembly, StartError
from fairlead.server.certificates import Pki, ensure_pki
from fairlead.server.client_trust import ClientTrust
from fairlead.server.health import Check, Health
from fairlead.server.kubeconfig import write_admin_config
from fairlead.server.metrics import CONTENT_TYPE, Metrics
from fairlead.server.options import planned_flags
from fairlead.server.protocol import TlsProtocol
from fairlead.storage.backend import StorageError
from fairlead.storage.format import OldNames
from fairlead.storage.sqlite import SqliteBackend
from fairlead.storage.store import Store

logger = logging.getLogger("fairlead")

_KEEP_ALIVE = 120
_LONGEST_DRAIN = 60.0


class Server:
    """One process that serves one data directory."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.dialect: Dialect = DIALECTS[options.dialect]
        self.stopping = asyncio.Event()
        self.ready = False
        self._shutting_down = False
        self._state = ServerState()
        self._tasks: list[asyncio.Task[None]] = []
        self._started_at = 0.0

    async def run(self) -> None:
        """Serve until told to stop; raises StartError."""
        options = self.options
        loop = asyncio.get_running_loop()
        self._started_at = loop.time()
        for name in planned_flags(options):
            logger.warning("%s is accepted but has no effect in this release yet", name)
        if options.workers > 1:
            logger.warning("the embedded store serves from one process; --workers has no effect")
        listener = self._listen()
        host, port = listener.getsockname()[:2]
        self.address = f"{_shown(options.advertise_address or host)}:{port}"
        resources = Resources(self.dialect, BuiltinTypes(self.dialect))
        self.store = await self._open_store(options.data_dir, resources)
        pki = self._prepare_directory(options.data_dir)
        self.assembly = Assembly(options, self.dialect, self.store, pki, resources)
        self.api = self.assembly.api
        await self.assembly.prepare(port)
        application = self._application()
        trust = ClientTrust(lambda: self._tls(pki), self.api.authentication.authorities)
        server = await self._serve(listener, application, trust.context)
        url = f"https://{self.address}"
        write_admin_config(options.data_dir / "admin.kubeconfig", url, pki, "fairlead")
        works = [self.store.keep_compacting, self._keep_date, *self.assembly.background()]
        self._tasks = [asyncio.create_task(work()) for work in works]
        self._handle_signals(loop)
        tune_garbage_collector()
        self.ready = True
        print(
            f"Fairlead serves on {url} (dialect {self.dialect.name},"
            f" KUBECONFIG={options.data_dir / 'admin.kubeconfig'})",
            flush=True,
        )
        await self.stopping.wait()
        await self._shut_down(server)

    def _listen(self) -> socket.socket:
        options = self.options
        family = socket.AF_INET6 if ":" in options.bind_address else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((options.bind_address, options.secure_port))
        except OSError as error:
            where = f"{options.bind_address}:{options.secure_port}"
            raise StartError(f"cannot listen on {where}: {error.strerror}") from None
        return listener

    def _prepare_directory(self, directory: Path) -> Pki:
        try:
            return ensure_pki(directory, self._hosts())
        except OSError as error:
            raise StartError(f"cannot use {directory}: {error.strerror}") from None

    def _hosts(self) -> list[str]:
        own = self.dialect.own_service
        names = [own, f"{own}.default", f"{own}.default.svc", f"{own}.default.svc.cluster.local"]
        hosts = ["localhost", "127.0.0.1", "::1", *names]
        for host in (self.options.bind_address, self.options.advertise_address):
            if host and host not in ("0.0.0.0", "::") and host not in hosts:
                hosts.append(host)
        return hosts

    async def _open_store(self, directory: Path, resources: Resources) -> Store:
        """Before anything else is written: another server may have the directory."""
        if self.options.storage != "sqlite":
            raise StartError("--storage etcd is not available in this release yet; use sqlite")
        systems = {name: dialect.system_namespace for name, dialect in DIALECTS.items()}
        backend = SqliteBackend(
            directory,
            self.dialect.name,
            OldNames(resources.old_prefixes(), systems),
            accept_lost_writes=self.options.accept_lost_writes,
        )
        options = self.options
        retention = options.history_retention
        store = Store(
            backend,
            retention=options.etcd_compaction_interval if retention is None else retention,
            history_memory=options.history_memory << 20,
            history_bytes=options.history_disk << 20,
        )
        store.on_fatal = _stop_at_once
        try:
            await store.open()
        except StorageError as error:
            raise StartError(str(error)) from None
        return store

    def _application(self) -> Application:
        options = self.options
        handler = Handler(self.api, self.address)
        metrics = Metrics(self.store)
        for name, checks in self._checks().items():
            handler.prefixes[f"/{name}"] = Health(self.dialect, name, checks).answer

        async def show_metrics(request: Request) -> Answer:
            return Answer(200, await metrics.text(), CONTENT_TYPE)

        async def show_version(request: Request) -> Answer:
            return handler.document(request, discovery.version(__version__))

        async def show_paths(request: Request) -> Answer:
            others = [*handler.pages, *handler.prefixes, "/openapi/v2", "/openapi/v3"]
            shown = [path for path in others if path not in ("/", "/openapi")]
            return handler.document(request, discovery.paths(self.api.resources, shown))

        async def show_issuer(request: Request) -> Answer:
            return handler.document(request, documents.configuration(self.address))

        async def show_keys(request: Request) -> Answer:
            return handler.document(request, documents.jwks())

        handler.pages = {"/": show_paths, "/metrics": show_metrics, "/version": show_version}
        handler.prefixes["/openapi"] = OpenApi(self.api.resources).answer
        documents = self.api.authentication.documents
        if documents.available:
            handler.pages |= {CONFIGURATION_PATH: show_issuer, JWKS_PATH: show_keys}
        return Application(
            handler,
            metrics,
            options.max_requests_inflight,
            options.max_mutating_requests_inflight,
        )

    def _checks(self) -> dict[str, dict[str, Check]]:
        def ping() -> str | None:
            return None

        def storage() -> str | None:
            return None if self.store.healthy else "the store does not answer"

        def started() -> str | None:
            if self.ready:
                return None
            waited = asyncio.get_running_loop().time() - self._started_at
            return None if waited < self.options.livez_grace_period else "not started"

        def readiness() -> str | None:
            return None if self.ready else "not started"

        def shutdown() -> str | None:
            return "the server is shutting down" if self._shutting_down else None

        common: dict[str, Check] = {"ping": ping, "log": ping, "etcd": storage}
        return {
            "healthz": {**common, "poststarthook/start": started},
            "livez": {**common, "poststarthook/start": started},
            "readyz": {**common, "poststarthook/start": readiness, "shutdown": shutdown},
        }

    def _tls(self, pki: Pki) -> ssl.SSLContext:
        options = self.options
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        certificate = options.tls_cert_file or pki.serving.certificate
        key = options.tls_private_key_file or pki.serving.key
        if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
            raise StartError("--tls-cert-file and --tls-private-key-file go together")
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ssl.SSLError) as error:
            raise StartError(f"cannot load {certificate} and {key}: {error}") from None
        return context

    async def _serve(
        self, listener: socket.socket, application: Application, tls: ssl.SSLContext
    ) -> asyncio.Server:
        config = Config(
            application,
            http=TlsProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            proxy_headers=False,
            log_config=None,
            timeout_keep_alive=_KEEP_ALIVE,
        )
        config.load()
        self._set_date()

        def protocol() -> TlsProtocol:
            return TlsProtocol(config, self._state, {})

        loop = asyncio.get_running_loop()
        return await loop.create_server(protocol, sock=listener, ssl=tls, backlog=2048)

    def _set_date(self) -> None:
        self._state.default_headers = [(b"date", formatdate(usegmt=True).encode())]

    async def _keep_date(self) -> None:
        while True:
            await asyncio.sleep(1)
            self._set_date()

    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stopping.set)

    async def _shut_down(self, server: asyncio.Server) -> None:
        """Not ready, wait for load balancers to notice, take no more, finish what is under way."""
        self._shutting_down = True
        logger.info("shutting down")
        await asyncio.sleep(self.options.shutdown_delay_duration)
        server.close()
        self.store.end_watches()
        for connection in list(self._state.connections):
            connection.shutdown()
        await self._drain()
        for task in self._tasks:
            task.cancel()
        await self.assembly.close()
        await self.store.close()

    async def _drain(self) -> None:
        under_way = set(self._state.tasks)
        if under_way:
            await asyncio.wait(under_way, timeout=_LONGEST_DRAIN)


def tune_garbage_collector() -> None:
    """Look at young objects less often and never again at what was loaded: requests leave no
    cycles behind, and full collections would cost more the more is stored."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def _stop_at_once(message: str) -> None:
    """What the store holds can no longer be told: whatever would still be done might be wrong."""
    print(f"fairlead: {message}", file=sys.stderr, flush=True)
    os._exit(1)


def _shown(host: str) -> str:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def serve(options: argparse.Namespace, run: Callable[..., None]) -> int:
    """Run a server; gives the exit code."""

    async def main() -> None:
        await Server(options).run()

    try:
        run(main())
    except StartError as error:
        print(f"fairlead: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
