"""The commands backup, restore and migrate, which copy or convert a whole store."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from types import FrameType
from typing import BinaryIO, NoReturn

from fairlead.cli.failures import explain
from fairlead.cli.parser import complain
from fairlead.cli.store_copy_flags import add_flags as add_flags
from fairlead.cli.store_copy_flags import check, names_for, storage_at
from fairlead.client.access.files import VARIABLE
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import AccessError
from fairlead.process.backup import PATH
from fairlead.process.backup.archive import Archive, BackupError, new_file, pieces
from fairlead.process.backup.progress import Progress, size
from fairlead.process.backup.shared import RevisionGap
from fairlead.process.backup.storages import Contents, Storage
from fairlead.storage.backend import StorageError
from fairlead.storage.sqlite.migration import migrate_directory
from fairlead.wire.outgoing.client import HttpClient
from fairlead.wire.outgoing.client_config import ClientConfig, ClientConfigError
from fairlead.wire.outgoing.request import Request
from fairlead.wire.outgoing.response import CallError, Response, check_success

_BEARER = "Bearer "
_ANSWER_TIMEOUT = 60.0
_MAX_ERROR_BYTES = 64 * 1024


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the command and return the exit code. SIGTERM and SIGHUP raise SystemExit, so that no
    partial output is left behind."""
    check(command, parser, options)
    progress = Progress(command, verbose=options.verbose)
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        _COMMANDS[command](options, progress)
    except (BackupError, StorageError) as error:
        progress.end()
        complain(parser.prog, str(error))
        return 1
    except (OSError, MemoryError) as error:
        progress.end()
        complain(parser.prog, explain(error))
        return 1
    finally:
        progress.end()
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _back_up(options: argparse.Namespace, progress: Progress) -> None:
    with new_file(options.file) as file:
        if options.kubeconfig is not None:
            asyncio.run(_download(options, file, progress))
        else:
            _pack(storage_at(options, options.data_dir), file, progress)
        file.flush()
        archive = Archive(options.file, file)
        count = archive.verify()
    moment = f"revision {archive.header.revision}"
    progress.say(f"{options.file}: {count:,} objects at {moment}, {size(progress.bytes)}")


async def _download(options: argparse.Namespace, file: BinaryIO, progress: Progress) -> None:
    # The environment variable may list several files: let `load_access` read it.
    named = str(options.kubeconfig) != os.environ.get(VARIABLE)
    try:
        access = load_access(options.kubeconfig if named else None, context=options.context)
        proof = await access.credentials.proof()
    except AccessError as error:
        raise BackupError(str(error)) from None
    if access.impersonation.user:
        raise BackupError(
            "a backup cannot be made with impersonation: choose a context without `as`"
        )
    config = access.place._replace(certificate=proof.certificate, key=proof.key)
    if proof.authorization.startswith(_BEARER):
        token = proof.authorization.removeprefix(_BEARER)
        config = config._replace(token=token, token_file=None)
    await download(config, file, progress)


def _pack(storage: Storage, file: BinaryIO, progress: Progress) -> None:
    with storage.reading() as contents:
        for piece in pieces(contents.header, progress.counted(contents.rows())):
            file.write(piece)
            progress.add_bytes(len(piece))


def _restore(options: argparse.Namespace, progress: Progress) -> None:
    storage = storage_at(options, options.data_dir)
    with options.file.open("rb") as file:
        archive = Archive(options.file, file)
        dialect = archive.header.dialect
        if options.dialect and dialect != options.dialect:
            raise BackupError(f"{options.file} is a backup of the {dialect} dialect")
        archive.verify(progress.add_bytes)
        _fill(storage, archive, _raising(options, storage.usual_gap), progress)


def _migrate(options: argparse.Namespace, progress: Progress) -> None:
    if options.data_dir is not None:
        _convert(options)
        return
    with storage_at(options, options.origin).reading() as contents:
        dialect = contents.header.dialect
        if options.dialect and dialect != options.dialect:
            raise BackupError(f"{options.origin} holds objects of the {dialect} dialect")
        _fill(storage_at(options, options.target), contents, _raising(options, 0), progress)


def _convert(options: argparse.Namespace) -> None:
    done = migrate_directory(options.data_dir, options.to_format, options.dialect or "", names_for)
    release = f", last written by release {done.release}" if done.release else ""
    if done.copy is None:
        print(f"{done.database} has format {done.after}{release}; there is nothing to do")
    else:
        print(f"{done.database} had format {done.before}{release}; it now has {done.after}")
        print(f"the database as it was is in {done.copy}")


_COMMANDS = {"backup": _back_up, "restore": _restore, "migrate": _migrate}


def _raising(options: argparse.Namespace, default: int) -> RevisionGap:
    gap = default if options.revision_gap is None else options.revision_gap
    return RevisionGap(gap, bool(options.accept_older_revisions))


def _fill(storage: Storage, contents: Contents, gap: RevisionGap, progress: Progress) -> None:
    revision = storage.fill(contents, gap, progress)
    count, before = progress.rows, contents.header.revision
    progress.say(
        f"{count:,} objects of revision {before} copied; continuing at revision {revision}"
    )


# Downloads the backup of a running server over its API.


async def download(config: ClientConfig, file: BinaryIO, progress: Progress) -> None:
    """Write the response of a server to a file; raises BackupError."""
    client = HttpClient(proxy_for=lambda url: config.proxy)
    try:
        tls, name = config.ssl_context(), config.server_name
        url = config.server.rstrip("/") + PATH
        request = Request("GET", url, _headers(config), tls=tls, server_name=name)
        connection = await client.open(request, timeout=_ANSWER_TIMEOUT)
        status = connection.status
        if status != 200:
            content = await connection.read_all(_MAX_ERROR_BYTES)
            check_success(Response(status, content, tuple(connection.headers)))
            raise CallError(f"it answers {status}")
        async for piece in connection.pieces():
            file.write(piece)
            progress.add_bytes(len(piece))
    except (CallError, ClientConfigError) as error:
        raise BackupError(f"cannot read the backup from {config.server}: {error}") from None
    finally:
        await client.close()


def _headers(config: ClientConfig) -> dict[str, str]:
    """Decline content codings: a backup is compressed already."""
    headers = {"accept-encoding": "identity"}
    if proof := config.authorization():
        headers["authorization"] = proof
    return headers
