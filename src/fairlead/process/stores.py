"""Builds the log of a server's store from its options, with the keys that encrypt it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.base.dialect import DIALECTS, Dialect
from fairlead.base.logs import Logger, log_exit_reason
from fairlead.process.assembly import StartError
from fairlead.resources.etcd_format import codec as etcd_format_codec
from fairlead.resources.etcd_format import encryption as etcd_encryption
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.storage import followed
from fairlead.storage.encryption import configuration
from fairlead.storage.etcd.flags import build_etcd_source
from fairlead.storage.sqlite import read_only
from fairlead.storage.sqlite.backend import SqliteBackend
from fairlead.storage.sqlite.format import OldNames
from fairlead.storage.sqlite.log import EmbeddedLog, Sealing
from fairlead.storage.store import Store

if TYPE_CHECKING:
    from fairlead.storage.encryption.keyring import Sealing as Keys
    from fairlead.storage.etcd.rows import Codec
    from fairlead.storage.log import Log, Source

_EVENTS = "core/v1/events"
_NAMESPACES = "core/namespaces"
logger = Logger("fairlead")
_KEYS_BY_PATH: dict[Path, Keys] = {}


def embedded_log(
    options: argparse.Namespace,
    dialect: Dialect,
    resources: Resources,
    scratch: Path | None = None,
) -> EmbeddedLog:
    """Return the log in the data directory. `scratch` is a directory for temporary files; the
    caller deletes it."""
    directory: Path = options.data_dir
    if options.read_only:
        directory = read_only.copy_of_store(directory, scratch)
    backend = SqliteBackend(
        directory,
        dialect.name,
        old_names(resources),
        accept_lost_writes=options.accept_lost_writes,
        records_release=not options.read_only,
    )
    log = EmbeddedLog(backend, sealed_rows(options, resources))
    log.on_fatal = _stop_at_once
    return log


def store_over(options: argparse.Namespace, log: Log) -> Store:
    """Return the unopened store over a log, with the limits of the options."""
    return Store(
        log,
        retention=options.history_retention,
        history_memory=options.history_memory,
        history_bytes=options.history_size,
    )


def old_names(resources: Resources) -> OldNames:
    """Return the names of format 1 for the resources of a dialect."""
    systems = {name: dialect.system_namespace for name, dialect in DIALECTS.items()}
    return OldNames(resources.old_prefixes(), systems)


def etcd_log(
    options: argparse.Namespace,
    resources: Resources,
    *,
    urls: Sequence[str] = (),
    holds: Callable[[str], bool],
) -> followed.FollowedLog:
    """Return the log of an etcd cluster, to which other servers write, too; with `urls`, of another
    one than the main one. `holds` returns whether it keeps a resource."""
    source = etcd_source(options, resources, urls=urls, holds=holds, records_release=True)
    if options.read_only:
        source = read_only.ReadOnlySource(source)
    log = followed.FollowedLog(source)
    log.on_fatal = _stop_at_once
    return log


def etcd_source(
    options: argparse.Namespace,
    resources: Resources,
    around: Callable[[Codec], Codec] = lambda codec: codec,
    *,
    urls: Sequence[str] = (),
    holds: Callable[[str], bool] = lambda resource: True,
    records_release: bool = False,
) -> Source:
    """Return the etcd cluster that the options describe, or the one at `urls`, in which no epoch is
    kept. `around` may wrap its codec; `holds` returns whether it keeps a resource. With
    `records_release`, opening the store records the release of this server in it."""
    codec = around(_sealed(options, resources))
    return build_etcd_source(
        options,
        codec,
        _lifetimes(options, resources),
        _moves_epoch(resources) if not urls else None,
        urls=urls,
        holds=holds,
        records_release=records_release,
    )


def _encryption_keys(options: argparse.Namespace, resources: Resources) -> Keys | None:
    """Return the encryption of stored values; None if it is off. Raises StartError."""
    if options.encryption_provider_config is None:
        return None
    try:
        return sealing_of(options, resources)
    except configuration.EncryptionError as error:
        raise StartError(str(error)) from None


def sealed_rows(options: argparse.Namespace, resources: Resources) -> Sealing | None:
    """Return the encryption of values in the data directory; None if it is off."""
    keys = _encryption_keys(options, resources)
    if keys is None:
        return None
    return etcd_encryption.EncryptedRows(etcd_format_codec.ReferenceCodec(resources), keys)


def _sealed(options: argparse.Namespace, resources: Resources) -> Codec:
    codec = etcd_format_codec.ReferenceCodec(resources)
    keys = _encryption_keys(options, resources)
    if keys is None:
        return codec
    return etcd_encryption.EncryptedCodec(codec, keys, options.etcd_prefix)


def _lifetimes(
    options: argparse.Namespace, resources: Resources
) -> Callable[[str, str], int | None]:
    """Return a function that gives the lifetime in seconds of a value at a key."""
    events = resources.stored_as(resources.named(_EVENTS))
    seconds = int(options.event_ttl)

    def ttl(resource: str, _: str) -> int | None:
        return seconds if resource == events and seconds > 0 else None

    return ttl


def _moves_epoch(resources: Resources) -> Callable[[str], bool]:
    """Return a predicate for resources whose writes move the epoch: all built-in ones that are not
    marked as plentiful. Decisions about other objects depend on them."""
    heavy = {
        resources.stored_as(resource) for resource in resources.stored() if not resource.plentiful
    }
    return heavy.__contains__


def check_dialect(store: Store, dialect: Dialect) -> None:
    """Raise StartError if the objects in a store belong to another dialect. A shared store does not
    record its dialect, so this looks at the system namespaces; mixing dialects would corrupt it."""
    namespaces = store.collection(_NAMESPACES).heads
    if dialect.system_namespace in namespaces:
        return
    for other in DIALECTS.values():
        if other.system_namespace in namespaces:
            raise StartError(
                f"the store holds objects of the {other.name} dialect: start with"
                f" --dialect {other.name}"
            )


def _stop_at_once(message: str) -> None:
    """Exit immediately: the state of the store is unknown, so any further answer might be wrong."""
    try:
        log_exit_reason(message)
    finally:  # also if the disk of the log is full
        os._exit(1)


# The keys of `--encryption-provider-config`, read once per process.


def sealing_of(options: argparse.Namespace, resources: Resources) -> Keys | None:
    """Return the encryption of stored values; None if it is off. Raises EncryptionError."""
    path: Path | None = options.encryption_provider_config
    if path is None:
        return None
    if path not in _KEYS_BY_PATH:
        _KEYS_BY_PATH[path] = configuration.read_encryption(
            path, resources.dialect, resources.release, gates_of(options, resources)
        )
        for name in _unknown_resources(_KEYS_BY_PATH[path], resources):
            logger.warning(
                "not a stored resource", flag=configuration.FLAG, file=path, resource=name
            )
    return _KEYS_BY_PATH[path]


def gates_of(options: argparse.Namespace, resources: Resources) -> Callable[[str], bool]:
    """Return whether a feature gate is on; commands without `--feature-gates` read everything."""
    texts: list[str] | None = getattr(options, "feature_gates", None)
    if texts is None:
        return lambda name: True
    gates = parse_gates(",".join(texts), resources.release)
    return gates.__getitem__


def _unknown_resources(sealing: Keys, resources: Resources) -> list[str]:
    """Return configured names that match no resource and cannot match a custom one: a typo would
    leave values unencrypted."""
    stored_names = {resources.stored_as(resource) for resource in resources.stored()}
    own_groups = {name.partition("/")[0] for name in stored_names}
    return [
        name
        for name in sealing.resources
        if name not in stored_names and (name.partition("/")[0] in own_groups or "." not in name)
    ]
