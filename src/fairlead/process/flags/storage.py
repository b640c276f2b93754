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
        "how much history stays in memory; older history is read from disk",
    ),
    (
        "--history-size",
        2 << 30,
        "how much history is kept on disk; what is cut early is answered with 410",
    ),
    (
        "--kept-forms-memory",
        KEPT_FORMS_LIMIT,
        "how much stays in memory of what was made of objects: protobuf, cells of Tables",
    ),
)
_SWITCHES = (
    ("--testing", "serve what only tests may do: snapshots, faults, the clock and more"),
    (
        "--read-only",
        "serve what is stored and write nothing: clients are refused, no controllers run",
    ),
)


def add_storage_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Storage")
    flag = group.add_argument
    flag("--data-dir", type=directory, default=Path("fairlead-data"), help="everything it keeps")
    flag(
        "--history-retention",
        "--etcd-compaction-interval",
        dest="history_retention",
        type=duration,
        default=300.0,
        metavar="DURATION",
        help="how long history is kept: what lists and watches can look back",
    )
    for name, most, text in _SIZES:
        flag(name, type=size, default=most, metavar="BYTES", help=text)
    switch(
        group,
        "--accept-lost-writes",
        False,
        "start though acknowledged writes are missing from the store",
    )
    flag(
        "--storage",
        choices=("sqlite", "etcd"),
        default="sqlite",
        help="a file in the data directory, or an etcd cluster that several servers can share",
    )
    flag(
        "--workers",
        type=whole_number,
        default=1,
        metavar="N",
        help="processes that serve together",
    )
    flag(
        "--encryption-provider-config",
        type=Path,
        metavar="FILE",
        help="keys under which values of some resources are stored",
    )
    for name, text in _SWITCHES:
        switch(group, name, False, text)
