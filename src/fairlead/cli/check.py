"""The command check: what is wrong with a data directory, an etcd cluster or a running server."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from fairlead.base import clock
from fairlead.base.dialect import DIALECTS
from fairlead.base.release import RELEASES
from fairlead.cli.checks.database import DatabaseCheck
from fairlead.cli.checks.directory import check_files
from fairlead.cli.checks.findings import Report, error
from fairlead.cli.checks.members import ValuesCheck, ask_members, member_findings
from fairlead.cli.checks.objects import ObjectCheck
from fairlead.cli.checks.server import ServerCheck
from fairlead.cli.error_messages import error_text
from fairlead.cli.parser import complain
from fairlead.cli.store_copy_flags import DEFAULT_DIALECT, connecting, sealing
from fairlead.client import AccessError, ApiError, Client, Unreachable
from fairlead.client.access.files import VARIABLE
from fairlead.client.access.loader import load_access
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.process.backup.archive import BackupError
from fairlead.process.flags.values import duration, whole_number
from fairlead.resources.registry import Resources
from fairlead.storage.backend import Row, StorageError
from fairlead.storage.etcd.flags import (
    EtcdFlagError,
    add_etcd_flags,
    check_etcd_flags,
    member_urls,
    trust_of,
)

_ETCD = "etcd"
_SHAPES = ("text", "json")


def add_flags(command: str, parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument
    flag("--data-dir", type=Path, metavar="DIR", help="a data directory, also one in use")
    flag("--storage", choices=(_ETCD,), help="an etcd cluster, see --etcd-servers")
    flag(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help=f"client configuration of a running server; by default ${VARIABLE}",
    )
    flag("--context", default="", metavar="NAME", help="context to use instead of the current one")
    flag("-o", "--output", choices=_SHAPES, default=_SHAPES[0], help="form of the report")
    flag(
        "--dialect",
        choices=sorted(DIALECTS),
        help=f"what etcd holds, by default {DEFAULT_DIALECT}",
    )
    flag("--release", choices=sorted(RELEASES), help="release of the API that etcd is served as")
    flag(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="EncryptionConfiguration file of the server, for encrypted values",
    )
    parser.set_defaults(event_ttl=0.0, etcd_servers_overrides=[])  # it reads one cluster
    add_etcd_flags(parser, duration, whole_number)


def run(command: str, parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Print the report; return 0 if nothing is wrong, 1 if something is."""
    _complete(parser, options)
    try:
        if options.data_dir is not None:
            report = _check_directory(options)
        elif options.storage is not None:
            report = asyncio.run(_check_etcd(options))
        else:
            report = asyncio.run(_check_server(options))
    except (AccessError, ApiError, Unreachable) as problem:
        complain(parser.prog, error_text(problem))
        return 1
    except (BackupError, StorageError) as problem:
        complain(parser.prog, str(problem))
        return 1
    if options.output == "json":
        print(report.document())
    else:
        print("\n".join(report.lines()))
    return report.exit_code


def _complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Complete the options; exits with a usage error if they contradict each other."""
    named = [options.data_dir, options.storage, options.kubeconfig]
    if not any(each is not None for each in named) and os.environ.get(VARIABLE):
        named = [VARIABLE]  # `load_access` reads it: it may list several files
    if sum(each is not None for each in named) != 1:
        parser.error("one of --data-dir, --storage=etcd and --kubeconfig says what to check")
    try:
        check_etcd_flags(options)
    except EtcdFlagError as problem:
        parser.error(str(problem))


def _check_directory(options: argparse.Namespace) -> Report:
    directory: Path = options.data_dir
    report = Report(str(directory))
    if not directory.is_dir():
        report.add([error(directory, "is not a directory")])
        return report
    report.add(check_files(directory, clock.now()))
    database = DatabaseCheck(directory)
    report.add(database.findings())
    if database.contents is None:
        return report
    state, rows = database.contents
    report.looked_at(f"revision {state.revision:,}, {len(rows):,} objects")
    dialect = state.dialect if state.dialect in DIALECTS else DEFAULT_DIALECT
    keys = sealing(options, dialect)
    if keys is not None:
        rows = [
            row._replace(value=keys.unseal(row.resource, row.key, row.value or b"")) for row in rows
        ]
    _check_objects(report, rows, _groups(dialect, options))
    return report


async def _check_etcd(options: argparse.Namespace) -> Report:
    report = Report(options.etcd_servers)
    answers = await ask_members(member_urls(options), trust_of(options))
    report.add(member_findings(answers))
    report.looked_at(f"{len(answers)} members")
    if all(answer.failure for answer in answers):
        return report
    dialect, connect = options.dialect or DEFAULT_DIALECT, connecting(options)
    values = ValuesCheck(lambda unread: connect(dialect, unread)[0].source)
    report.add(await values.findings())
    if values.snapshot is not None:
        revision, rows = values.snapshot
        report.looked_at(f"revision {revision:,}, {len(rows):,} objects")
        _check_objects(report, rows, _groups(dialect, options))
    return report


async def _check_server(options: argparse.Namespace) -> Report:
    access = load_access(options.kubeconfig, context=options.context)
    report = Report(access.place.server)
    async with Client(access) as client:
        check = ServerCheck(client, clock.now())
        report.add(await check.findings())
    report.looked_at(f"{check.objects.count:,} objects")
    if check.left_out:
        report.looked_at(f"not allowed to read: {', '.join(check.left_out)}")
    return report


def _check_objects(report: Report, rows: Iterable[Row], built_in: Iterable[str]) -> None:
    check, sealed = ObjectCheck(clock.now(), built_in), 0
    for row in rows:
        value = _object(row.value)
        if value is None:
            sealed += row.value is not None and not row.is_plain
            if row.is_plain:
                report.add([error(f"{row.resource} {row.key}", "is stored as no JSON object")])
            continue
        check.add(row.resource, row.key, value, len(row.value or b""))
    report.add(check.findings())
    if sealed:
        report.looked_at(
            f"{sealed:,} encrypted objects are not read without --encryption-provider-config"
        )


def _object(stored: bytes | None) -> dict[str, Any] | None:
    try:
        value = orjson.loads(stored or b"")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _groups(name: str, options: argparse.Namespace) -> set[str]:
    """The groups whose objects need no definition, as the store names them."""
    dialect = DIALECTS[name]
    release = RELEASES[options.release or dialect.default_release]
    groups = Resources(dialect, BuiltinTypes(dialect, release)).groups
    return {group or "core" for group in groups}
