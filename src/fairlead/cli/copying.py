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
from fairlead.backup.stopped import stopped_store
from fairlead.backup.target import new_file
from fairlead.cli.failures import explain
from fairlead.cli.parsing import complain
from fairlead.dialect import DIALECTS
from fairlead.server.flag_values import whole_number
from fairlead.storage.backend import StorageError
from fairlead.storage.sqlite_loading import load

# Clients may know revisions that were given out after the backup was made.
_GAP = 1_000_000_000


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
            default=_GAP,
            metavar="N",
            help="how far revisions go on above the backup's, for what came after it",
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
                with stopped_store(options.data_dir) as store:
                    for piece in pieces(store.header, progress.counted(store.rows())):
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
    with options.file.open("rb") as file:
        archive = Archive(options.file, file)
        header = archive.header
        if options.dialect and header.dialect != options.dialect:
            raise BackupError(f"{options.file} is a backup of the {header.dialect} dialect")
        try:
            archive.verify(progress.add_bytes)
            rows = progress.counted(archive.rows())
            gap = options.revision_gap
            revision = load(options.data_dir, header.dialect, rows, header.revision, gap)
            where = f"{options.data_dir}, which goes on at revision {revision}"
            progress.say(f"{progress.rows:,} objects of revision {header.revision} are in {where}")
        finally:
            progress.end()


def _migrate(options: argparse.Namespace) -> None:
    progress = Progress("migrate", verbose=options.verbose)
    try:
        with stopped_store(options.origin) as store:
            header = store.header
            rows = progress.counted(store.rows())
            load(options.target, header.dialect, rows, header.revision)
            progress.say(f"{progress.rows:,} objects of revision {header.revision} are copied")
    finally:
        progress.end()
