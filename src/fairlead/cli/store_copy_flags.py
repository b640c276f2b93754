"""Command line of backup, restore and migrate, and the storages that it selects."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from fairlead.base.dialect import DIALECTS
from fairlead.base.release import RELEASES
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.process import assembly, store_overrides, stores
from fairlead.process.backup import UNFINISHED, shared_restore
from fairlead.process.backup.archive import BackupError
from fairlead.process.backup.storages import DirectoryStorage, SharedStorage, Storage
from fairlead.process.flags.values import duration, whole_number
from fairlead.resources.registry import Resources
from fairlead.storage.etcd.flags import EtcdFlagError, add_etcd_flags, check_etcd_flags
from fairlead.storage.etcd.overrides import add_override_flag, check_overrides
from fairlead.storage.log import Source
from fairlead.storage.sqlite.format import FORMAT, OldNames
from fairlead.storage.sqlite.log import Sealing
from fairlead.storage.sqlite.migration import OLDEST

_ETCD = "etcd"
_SHORTEST_INTERVAL = 1.0
DEFAULT_DIALECT = "cluster"


def add_flags(command: str, parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    if command == "migrate":
        what = f"DIR|{_ETCD}"
        flag("--from", dest="origin", metavar=what, help="storage to copy from")
        flag("--to", dest="target", metavar=what, help="empty storage to copy to")
        flag(
            "--data-dir",
            type=Path,
            metavar="DIR",
            help="data directory to convert in place, which no server uses",
        )
        flag(
            "--to-format",
            type=whole_number,
            metavar="N",
            help=f"format that its database shall have, {OLDEST} to {FORMAT}; by default {FORMAT}",
        )
    else:
        _add_file_flags(command, parser)
    flag("--dialect", choices=sorted(DIALECTS), help=_DIALECT[command])
    flag(
        "--release",
        choices=sorted(RELEASES),
        help="release of the API that a store in etcd is served as; by default that of the dialect",
    )
    flag(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="EncryptionConfiguration file of the server, for encrypted values",
    )
    if command != "backup":
        _add_filling_flags(parser)
    parser.set_defaults(event_ttl=0.0, workers=1)
    flag("-v", "--verbose", action="store_true", default=None, help="log the progress")
    add_override_flag(add_etcd_flags(parser, duration, whole_number))


_DIALECT = {
    "backup": f"what etcd holds, by default {DEFAULT_DIALECT}",
    "restore": "refuse a backup of another dialect",
    "migrate": f"what etcd holds, by default {DEFAULT_DIALECT}",
}


_FILE = (
    "file to write, which must not exist; with --follow, --every or --keep a directory of backups"
)


def _moment(text: str) -> datetime:
    """Parse a time with its zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-01-31T15:04:05Z")
    return moment.astimezone(UTC)


def makes_series(options: argparse.Namespace) -> bool:
    """Whether a directory of backups is written, not a single file."""
    return options.follow is not None or options.every is not None or options.keep is not None


def _add_file_flags(command: str, parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    if command == "backup":
        flag("file", type=Path, metavar="FILE", help=_FILE)
        flag(
            "--follow",
            action="store_true",
            default=None,
            help="append every change to a journal beside the backup, and continue until stopped",
        )
        flag(
            "--every",
            type=duration,
            metavar="DURATION",
            help="make another backup after this time, again and again",
        )
        flag(
            "--keep",
            type=whole_number,
            metavar="N",
            help="delete all but the newest N backups of the directory, once a new one is complete",
        )
        flag(
            "--verify",
            action="store_true",
            default=None,
            help="read existing backups as a whole instead, and print what can be restored",
        )
        flag(
            "--kubeconfig",
            type=Path,
            metavar="FILE",
            help="client configuration of the server to copy",
        )
        flag(
            "--context",
            default="",
            metavar="NAME",
            help="context to use instead of the current one",
        )
        flag("--data-dir", type=Path, metavar="DIR", help="a data directory that no server uses")
    else:
        flag("file", type=Path, metavar="FILE", help="a backup, or a directory of them")
        flag("--data-dir", type=Path, metavar="DIR", help="empty data directory to fill")
        flag(
            "--to-revision",
            type=whole_number,
            metavar="N",
            help="restore the state at a revision; by default the newest that the directory has",
        )
        flag(
            "--to-time",
            type=_moment,
            metavar="TIME",
            help="restore the state at a time, such as 2026-01-31T15:04:05Z",
        )
    flag("--storage", choices=(_ETCD,), help="an etcd cluster instead of a directory")


def _add_filling_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag(
        "--revision-gap",
        type=whole_number,
        metavar="N",
        help="revisions that are left out, for those given out after the copy was made; in a"
        f" restored directory by default {DirectoryStorage.usual_gap}, in etcd"
        f" {SharedStorage.usual_gap}",
    )
    flag(
        "--accept-older-revisions",
        action="store_true",
        default=None,
        help="fill an etcd although its revisions cannot be raised above those that"
        " clients have seen",
    )
    flag(
        "--event-ttl",
        type=duration,
        default=3600.0,
        metavar="DURATION",
        help="time to live of Events in etcd, from now on; 0 keeps them for ever",
    )


def check(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Complete the options; exits with a usage error if they contradict each other."""
    if command == "migrate":
        _check_migration(parser, options)
    else:
        if command == "backup":
            if options.verify:
                _check_verification(parser, options)
                return
            _check_schedule(parser, options)
        elif options.to_revision is not None and options.to_time is not None:
            parser.error("--to-revision and --to-time exclude each other")
        if command == "backup" and options.data_dir is None and options.storage is None:
            options.kubeconfig = options.kubeconfig or _environment()
        sources = [options.data_dir, options.storage, getattr(options, "kubeconfig", None)]
        if sum(source is not None for source in sources) != 1:
            names = "--kubeconfig, --data-dir" if command == "backup" else "--data-dir"
            parser.error(f"one of {names} and --storage={_ETCD} says which store is meant")
    try:
        check_etcd_flags(options)
        check_overrides(options)
    except EtcdFlagError as error:
        parser.error(str(error))


def _check_verification(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if makes_series(options):
        parser.error("--verify reads backups: it excludes --follow, --every and --keep")
    if any((options.data_dir, options.storage, options.kubeconfig)):
        parser.error("--verify reads backups: no store is named")


def _check_schedule(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.every is not None and options.every < _SHORTEST_INTERVAL:
        parser.error(f"--every: at least {_SHORTEST_INTERVAL:g}s")
    if options.keep == 0:
        parser.error("--keep: at least one backup is kept")
    if makes_series(options) and options.file.is_file():
        parser.error(f"{options.file} is a file; several backups need a directory")


def _check_migration(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    places = (options.origin, options.target)
    options.storage = _ETCD if _ETCD in places else None
    if options.data_dir is None:
        if None in places:
            parser.error("either --from and --to, or --data-dir says what is meant")
        if options.to_format is not None:
            parser.error("--to-format needs --data-dir")
        if places == (_ETCD, _ETCD):
            parser.error("one of --from and --to has to be a directory")
        return
    if places != (None, None):
        parser.error("either --from and --to, or --data-dir says what is meant")
    if options.to_format is None:
        options.to_format = FORMAT
    if not OLDEST <= options.to_format <= FORMAT:
        parser.error(f"--to-format: this release writes the formats {OLDEST} to {FORMAT}")


def names_for(dialect: str) -> OldNames:
    """Return the names that conversions need, by the dialect's name, "" if it is unknown."""
    chosen = DIALECTS[dialect or DEFAULT_DIALECT]
    return stores.old_names(Resources(chosen, BuiltinTypes(chosen)))


def _environment() -> Path | None:
    value = os.environ.get("KUBECONFIG")
    return Path(value) if value else None


def storage_at(options: argparse.Namespace, source: Path | str | None) -> Storage:
    """The storage in a directory, or in etcd if `source` is None or "etcd"."""
    if source is None or source == _ETCD:
        return SharedStorage(connecting(options), options.dialect or DEFAULT_DIALECT)
    return DirectoryStorage(Path(source), lambda dialect: sealing(options, dialect))


def connecting(
    options: argparse.Namespace,
) -> Callable[[str, Callable[[str], None]], list[shared_restore.Cluster]]:
    """Return a function that makes the clusters of etcd for a dialect. They skip values that they
    cannot decode and report each of them."""

    def connect(name: str, unread: Callable[[str], None]) -> list[shared_restore.Cluster]:
        resources = _resources(options, name)

        def source(holds: Callable[[str], bool], urls: Sequence[str] = ()) -> Source:
            return stores.etcd_source(
                options,
                resources,
                lambda codec: shared_restore.ReportingCodec(codec, unread),
                urls=urls,
                holds=holds,
            )

        try:
            apart = store_overrides.clusters_of(options, resources)
            clusters = [shared_restore.Cluster(source(lambda resource: resource not in apart))]
            for urls in dict.fromkeys(apart.values()):
                held = tuple(resource for resource, others in apart.items() if others == urls)
                # A restore marks each cluster that it has begun to fill.
                clusters.append(
                    shared_restore.Cluster(source({*held, UNFINISHED}.__contains__, urls), held)
                )
        except assembly.StartError as error:
            raise BackupError(str(error)) from None
        return clusters

    return connect


def _resources(options: argparse.Namespace, name: str) -> Resources:
    """The resources of a dialect in the chosen release."""
    dialect = DIALECTS[name]
    release = RELEASES[options.release or dialect.default_release]
    return Resources(dialect, BuiltinTypes(dialect, release))


def sealing(options: argparse.Namespace, name: str) -> Sealing | None:
    if options.encryption_provider_config is None:
        return None
    try:
        return stores.sealed_rows(options, _resources(options, name))
    except assembly.StartError as error:
        raise BackupError(str(error)) from None
