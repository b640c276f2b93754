"""Checks the files of a data directory. Reads only."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fairlead.cli.checks.findings import Finding, error, note, warning
from fairlead.process.certificates.authority import Pair, pki_of
from fairlead.process.data_directory import FileError
from fairlead.storage.sqlite.directory import Directory

_OPEN_TO_OTHERS = 0o077
_SECRET_FILES = ("pki", "admin.kubeconfig", "fairlead.db", "fairlead.db-wal", "lock")
_SOON = 14  # days
_MIN_FREE = 64 << 20  # bytes; below it a server may soon refuse writes
_MB = 1 << 20


def check_files(directory: Path, now: datetime) -> Iterator[Finding]:
    yield from _check_modes(directory)
    yield from _check_certificates(directory, now)
    yield from _check_leftovers(directory)
    yield from _check_disk(directory)


def _check_modes(directory: Path) -> Iterator[Finding]:
    for path in (directory, *(directory / name for name in _SECRET_FILES)):
        try:
            facts = path.lstat()
        except FileNotFoundError:
            continue
        mode = stat.S_IMODE(facts.st_mode)
        if stat.S_ISLNK(facts.st_mode):
            yield warning(path, "is a link", "Servers refuse linked keys: put the file here")
        elif mode & _OPEN_TO_OTHERS and (path == directory or path.name != "lock"):
            yield warning(
                path,
                f"has mode {mode:04o}, so others than its owner may use it",
                f"Run: chmod go-rwx {path}",
            )
        if facts.st_uid not in (os.geteuid(), directory.stat().st_uid):
            yield warning(path, f"belongs to the user {facts.st_uid}, not to that of the directory")


def _check_certificates(directory: Path, now: datetime) -> Iterator[Finding]:
    pki = pki_of(directory)
    if not pki.ca.certificate.exists():
        yield note(directory / "pki", "has no CA yet", "The first start creates it")
        return
    for name, pair in (
        ("the CA", pki.ca),
        ("the serving certificate", pki.serving),
        ("the administrator's certificate", pki.admin),
        ("the CA towards extension servers", pki.proxy_ca),
        ("the certificate towards extension servers", pki.proxy_client),
    ):
        if pair.certificate.exists():
            yield from _check_pair(name, pair, now)


def _check_pair(name: str, pair: Pair, now: datetime) -> Iterator[Finding]:
    path = pair.certificate
    try:
        validity = pair.check()
    except FileError as problem:
        yield error(path, f"{name} is unusable: {problem}")
        return
    days = validity.left(now).days
    if validity.left(now).total_seconds() <= 0:
        yield error(path, f"{name} expired on {validity.end:%Y-%m-%d}", "A start renews it")
    elif now < validity.start:
        yield warning(
            path,
            f"{name} is valid from {validity.start:%Y-%m-%d %H:%M} on, which is in the future",
            "Check the clock of this machine",
        )
    elif days < _SOON:
        yield warning(path, f"{name} expires in {days} days", "A running server renews it")


def _check_leftovers(directory: Path) -> Iterator[Finding]:
    unfinished = Directory(directory).unfinished
    if unfinished.exists():
        yield note(
            unfinished, "is left from a restore or a start that was interrupted", "Delete it"
        )


def _check_disk(directory: Path) -> Iterator[Finding]:
    usage, size = shutil.disk_usage(directory), Directory(directory).size()
    free = f"{usage.free // _MB:,} MB are free"
    if usage.free < _MIN_FREE:
        yield error(directory, f"the disk is full: {free}", "Make room before writes are refused")
    elif usage.free < size:
        yield warning(
            directory, f"{free}, less than the store has ({size // _MB:,} MB)", "Make room"
        )
    if not os.access(directory, os.W_OK):
        yield error(directory, "cannot be written by this user")
