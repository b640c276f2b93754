"""The commands backup, restore and migrate, which copy or convert a whole store."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from pathlib import Path
from types import FrameType

from fairlead.cli.failures import explain
from fairlead.cli.parser import complain
from fairlead.cli.store_copy_flags import add_flags as add_flags
from fairlead.cli.store_copy_flags import check, makes_series, names_for, storage_at
from fairlead.client.access.files import VARIABLE
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import AccessError
from fairlead.process.backup.archive import Archive, BackupError, Header, new_file
from fairlead.process.backup.keeper import Keeper, Plan
from fairlead.process.backup.origins import Origin, ServerOrigin, StorageOrigin
from fairlead.process.backup.point_in_time import state_of
from fairlead.process.backup.progress import Progress, size
from fairlead.process.backup.series import Series, is_series, reach, shown
from fairlead.process.backup.shared_restore import RevisionGap
from fairlead.process.backup.storages import Contents, Storage
from fairlead.storage.backend import StorageError
from fairlead.storage.sqlite.migration import migrate_directory
from fairlead.wire.outgoing.client_config import ClientConfig

_BEARER = "Bearer "
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the command and return the exit code. SIGTERM and SIGHUP interrupt it as Ctrl-C does, so
    that no partial output is left behind, and raise SystemExit then."""
    check(command, parser, options)
    progress = Progress(command, verbose=options.verbose)
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        # asyncio cancels its main task then. An exception from here would hit whatever task runs.
        signal.raise_signal(signal.SIGINT)

    before = {number: signal.signal(number, interrupt) for number in _SIGNALS}
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
    except KeyboardInterrupt:
        if received:
            raise SystemExit(128 + received[0]) from None
        raise
    finally:
        progress.end()
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0


def _back_up(options: argparse.Namespace, progress: Progress) -> None:
    if options.verify:
        _verify(options.file)
        return
    origin = _origin(options)
    if not makes_series(options):
        with new_file(options.file) as file:
            asyncio.run(origin.copy(file, progress))
            file.flush()
            archive = Archive(options.file, file)
            count = archive.verify()
        moment = f"revision {archive.header.revision}"
        progress.say(f"{options.file}: {count:,} objects at {moment}, {size(progress.bytes)}")
        return
    plan = Plan(bool(options.follow), options.every or 0.0, options.keep or 0)
    keeper = Keeper(Series(options.file), origin, plan, progress, _tell)
    asyncio.run(keeper.run())


def _tell(text: str) -> None:
    complain("fairlead backup", f"{text}; trying again")


def _origin(options: argparse.Namespace) -> Origin:
    if options.kubeconfig is None:
        return StorageOrigin(storage_at(options, options.data_dir))
    return ServerOrigin(lambda: _configuration(options))


async def _configuration(options: argparse.Namespace) -> ClientConfig:
    """Return how the server is reached, with credentials that are valid now."""
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
    return config


def _verify(path: Path) -> None:
    """Read backups as a whole, and print what can be restored from them."""
    if not is_series(path):
        with path.open("rb") as file:
            archive = Archive(path, file)
            print(_described(path, archive.header, archive.verify()))
        return
    bases = Series(path).bases()
    if not bases:
        raise BackupError(f"{path} holds no backups")
    faults: list[str] = []
    for base in bases:
        try:
            with base.opened() as archive:
                print(_described(base.path, archive.header, archive.verify()))
            for cluster in range(len(archive.header.clusters)):
                journal = base.journal_of(cluster)
                if journal.exists():
                    end = reach(base, cluster)
                    print(f"{journal}: up to revision {end.revision}, {shown(end.time)}")
        except BackupError as error:
            faults.append(str(error))
    if faults:
        raise BackupError("; ".join(faults))


def _described(path: Path, header: Header, count: int) -> str:
    others = [
        f", {' and '.join(other.resources)} from another cluster at revision {other.revision}"
        for other in header.others
    ]
    return (
        f"{path}: {count:,} objects at revision {header.revision}, {header.created}"
        f"{''.join(others)}"
    )


def _restore(options: argparse.Namespace, progress: Progress) -> None:
    storage = storage_at(options, options.data_dir)
    gap = _raising(options, storage.usual_gap)
    if is_series(options.file):
        state = state_of(Series(options.file), options.to_revision, options.to_time)
        _check_dialect(options, state.header)
        _fill(storage, state, gap, progress, of=state.revision)
        return
    if options.to_revision is not None or options.to_time is not None:
        raise BackupError(f"{options.file} is a single backup: only a directory has many states")
    with options.file.open("rb") as file:
        archive = Archive(options.file, file)
        _check_dialect(options, archive.header)
        archive.verify(progress.add_bytes)
        _fill(storage, archive, gap, progress)


def _check_dialect(options: argparse.Namespace, header: Header) -> None:
    if options.dialect and header.dialect != options.dialect:
        raise BackupError(f"{options.file} is a backup of the {header.dialect} dialect")


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


def _fill(
    storage: Storage, contents: Contents, gap: RevisionGap, progress: Progress, of: int = 0
) -> None:
    """Fill a storage. `of` is the revision of the state, if it is not that of the header."""
    revision = storage.fill(contents, gap, progress)
    count, before = progress.rows, of or contents.header.revision
    progress.say(
        f"{count:,} objects of revision {before} copied; continuing at revision {revision}"
    )
