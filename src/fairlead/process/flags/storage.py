"""Flags of storage."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairlead.auth.authentication.flags import switch
from fairlead.process.flags.values import directory, duration, size, whole_number
from fairlead.storage.derived_cache import DEFAULT_LIMIT as KEPT_FORMS_LIMIT

# Name, default and help text of flags.
_SIZES = (
    (
        "--history-memory",
        64 << 20,
        "size of the history in memory; older history is read from disk",
    ),
    (
        "--history-size",
        2 << 30,
        "size of the history on disk; requests for history that was dropped early get a 410",
    ),
    (
        "--kept-forms-memory",
        KEPT_FORMS_LIMIT,
        "size of the cache of other encodings of objects: protobuf, cells of Tables",
    ),
)
_SWITCHES = (
    ("--testing", "serve the testing API: snapshots, faults, moving the clock and more"),
    (
        "--read-only",
        "serve stored objects and write nothing: writes are refused and no controllers run",
    ),
)


def add_storage_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Storage")
    flag = group.add_argument
    flag(
        "--data-dir",
        type=directory,
        default=Path("fairlead-data"),
        help="directory of the server's data: objects, keys and certificates",
    )
    flag(
        "--history-retention",
        "--etcd-compaction-interval",
        dest="history_retention",
        type=duration,
        default=300.0,
        metavar="DURATION",
        help="how long old versions are kept for lists and watches from an earlier revision",
    )
    for name, maximum, text in _SIZES:
        flag(name, type=size, default=maximum, metavar="BYTES", help=text)
    switch(
        group,
        "--accept-lost-writes",
        False,
        "start although acknowledged writes are missing from the store",
    )
    flag(
        "--storage",
        choices=("sqlite", "etcd"),
        default="sqlite",
        help="where objects are stored: in a file of the data directory, or in an"
        " etcd cluster that several servers can share",
    )
    flag(
        "--workers",
        type=whole_number,
        default=1,
        metavar="N",
        help="number of processes that serve requests",
    )
    _add_encryption_flags(group)
    for name, text in _SWITCHES:
        switch(group, name, False, text)


def _add_encryption_flags(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="EncryptionConfiguration file: which resources are encrypted, and with which keys",
    )
    switch(
        group,
        "--encryption-provider-config-automatic-reload",
        False,
        "read the file of --encryption-provider-config again when it changes",
    )
