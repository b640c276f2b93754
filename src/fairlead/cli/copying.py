"""The commands that copy a whole store: backup, restore, migrate."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from pathlib import Path
from types import FrameType
from typing import NoReturn

from fairlead.backup.archive import Archive, pieces
from fairlead.backup.download import client_config, download
from fairlead.backup.errors import BackupError
from fairlead.backup.progress import Progress, size
from fairlead.backup.shared import Raising
from fairlead.backup.storages import Contents, DirectoryStorage, Storage
from fairlead.backup.target import new_file
from fairlead.cli.failures import explain
from fairlead.cli.parsing import complain
from fairlead.dialect import DIALECTS
from fairlead.server.flag_values import whole_number
from fairlead.storage.backend import StorageError


def add_flags(command: str, parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    if command == "backup":
        flag("file", type=Path, metavar="FILE", help="what is written; it must not exist")
        flag("--kubeconfig", type=Path, metavar="FILE", help="whose server to ask, and as whom")
        flag("--context", default="", metavar="NAME", help="another context than the current one")
        flag("--data-dir", type=Path, metavar="DIR", help="a data directory that no server uses")
    elif command == "restore":
        flag("file", type=Path, metavar="FILE", help="a backup")
        flag("--data-dir", type=Path, required=True, metavar="DIR", help="where no store is yet")
        flag("--dialect", choices=sorted(DIALECTS), help="refuse a backup of another one")
        flag(
            "--revision-gap",
            type=whole_number,
            metavar="N",
            help="revisions that are left out, for those given out after the backup was made;"
            f" by default {DirectoryStorage.usual_gap}",
        )
    else:
        flag("--from", dest="origin", type=Path, required=True, metavar="DIR", help="what to copy")
        flag("--to", dest="target", type=Path, required=True, metavar="DIR", help="where to")
    flag("-v", "--verbose", action="store_true", default=None, help="show progress in a log, too")


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Do what a command says; gives the exit code. Interrupted, it leaves nothing half done."""
    before = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        if command == "backup":
            _back_up(parser, options)
        elif command == "restore":
            _restore(options)
        else:
            _migrate(options)
    except (BackupError, StorageError) as error:
        complain(parser.prog, str(error))
        return 1
    except (OSError, MemoryError) as error:
        complain(parser.prog, explain(error))
        return 1
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _back_up(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.data_dir is not None and (options.kubeconfig is not None or options.context):
        parser.error("either --kubeconfig or --data-dir, not both")
    config_file = options.kubeconfig or Path(os.environ.get("KUBECONFIG", ""))
    if options.data_dir is None and not config_file.name:
        parser.error("what is to be copied? --kubeconfig names a server, --data-dir a directory")
    progress = Progress("backup", verbose=options.verbose)
    try:
        with new_file(options.file) as file:
            if options.data_dir is not None:
                with DirectoryStorage(options.data_dir).reading() as contents:
                    for piece in pieces(contents.header, progress.counted(contents.rows())):
                        file.write(piece)
                        progress.add_bytes(len(piece))
            else:
                config = client_config(config_file, options.context)
                asyncio.run(download(config, file, progress))
            file.flush()
            archive = Archive(options.file, file)
            count = archive.verify()
        at = f"revision {archive.header.revision}"
        progress.say(f"{options.file}: {count:,} objects at {at}, {size(progress.bytes)}")
    finally:
        progress.end()


def _restore(options: argparse.Namespace) -> None:
    progress = Progress("restore", verbose=options.verbose)
    storage: Storage = DirectoryStorage(options.data_dir)
    gap = storage.usual_gap if options.revision_gap is None else options.revision_gap
    with options.file.open("rb") as file:
        archive = Archive(options.file, file)
        dialect = archive.header.dialect
        if options.dialect and dialect != options.dialect:
            raise BackupError(f"{options.file} is a backup of the {dialect} dialect")
        try:
            archive.verify(progress.add_bytes)
            _fill(storage, archive, Raising(gap), progress)
        finally:
            progress.end()


def _migrate(options: argparse.Namespace) -> None:
    progress = Progress("migrate", verbose=options.verbose)
    try:
        with DirectoryStorage(options.origin).reading() as contents:
            _fill(DirectoryStorage(options.target), contents, Raising(), progress)
    finally:
        progress.end()


def _fill(storage: Storage, contents: Contents, raising: Raising, progress: Progress) -> None:
    revision = storage.fill(contents, raising, progress)
    count, before = progress.rows, contents.header.revision
    progress.say(f"{count:,} objects of revision {before} are there; it goes on at {revision}")
