"""Builds the audit log from the command line flags."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from fairlead.api.audit.auditor import Auditor
from fairlead.api.audit.backend import (
    Backend,
    Blocking,
    SeveralBackends,
    Shape,
    Sink,
    in_json,
    truncated,
)
from fairlead.api.audit.bodies import Bodies
from fairlead.api.audit.buffer import MAX_BATCH_BYTES, Buffer
from fairlead.api.audit.flags import BATCH, LEGACY, STRICT, BackendFlags, backend_flags
from fairlead.api.audit.log import STDOUT, FileLog, StreamLog, legacy_line
from fairlead.api.audit.policy import api_version
from fairlead.api.audit.policy_file import FLAG, PolicyError, read_policy
from fairlead.api.audit.reads import Deliver, Reads
from fairlead.api.audit.record import Names
from fairlead.api.audit.rotation import FileLock, RotatingFile, Rotation, SharedFile
from fairlead.api.audit.subjects import Subjects
from fairlead.api.audit.webhook import Webhook
from fairlead.base.dialect import Dialect
from fairlead.base.files import NotReloaded, Reloadable, stamp
from fairlead.base.logs import Logger
from fairlead.resources.gates import parse_gates
from fairlead.resources.registry import Resources
from fairlead.wire.outgoing.client_config import ClientConfigError, load_client_config
from fairlead.wire.outgoing.json_calls import JsonPoster

logger = Logger("fairlead")


class AuditError(ValueError):
    """The audit log cannot be built; the message names the flag."""


def build_auditor(
    options: argparse.Namespace,
    dialect: Dialect,
    resources: Resources,
    locks: Path | None = None,
) -> Auditor | None:
    """The auditor that the flags configure, None if there is none; raises AuditError. `locks` is
    the directory of lock files, if several processes write to the log."""
    if options.audit_policy_file is None:
        if options.audit_log_path or options.audit_webhook_config_file is not None:
            logger.warning("without --audit-policy-file no audit event is recorded")
        return None
    try:
        policy = read_policy(options.audit_policy_file, dialect)
    except PolicyError as error:
        raise AuditError(str(error)) from None
    version = api_version(dialect)
    backends: list[Backend] = []
    at_once = None
    if options.audit_log_path:
        backend, at_once = _log(options, version, locks)
        backends.append(backend)
    if options.audit_webhook_config_file is not None:
        backends.append(_webhook(options, version))
    if not backends:
        return None
    subjects = Subjects(policy, Names(dialect.group_domain))
    gates = parse_gates(",".join(options.feature_gates), resources.release)
    bodies = Bodies(resources, gates)
    if len(backends) > 1:
        return Auditor(SeveralBackends(backends), subjects, bodies)
    reads = Reads(subjects, *at_once) if at_once is not None else None
    return Auditor(backends[0], subjects, bodies, reads)


def reloadable_policy(
    options: argparse.Namespace, dialect: Dialect, auditor: Auditor
) -> Reloadable:
    """The policy file, whose rules later requests are judged by."""
    path: Path = options.audit_policy_file
    known = stamp(path)

    async def read_again() -> bool:
        nonlocal known
        found = stamp(path)
        if found == known:
            return False
        try:
            policy = await asyncio.to_thread(read_policy, path, dialect)
        except PolicyError as error:
            raise NotReloaded(str(error)) from None
        known = found
        auditor.subjects.judge_by(policy)
        return True

    return Reloadable(FLAG, read_again)


def _log(
    options: argparse.Namespace, version: str, locks: Path | None
) -> tuple[Backend, tuple[str, str, Deliver] | None]:
    """The log backend. Also returns the arguments of `Reads`, if the log can write the events of
    simple reads at once."""
    flags = backend_flags(options, "log")
    prefix, suffix = f'{{"kind":"Event","apiVersion":"{version}",', "\n"
    legacy = options.audit_log_format == LEGACY
    shape = legacy_line if legacy else _shape(flags, prefix, suffix)
    sink = _log_sink(options, locks)
    backend = _in_mode(flags, shape, sink, concurrent=False)
    is_plain = not legacy and flags.limits is None and flags.mode not in (BATCH, STRICT)
    if not is_plain or not isinstance(sink, FileLog):
        return backend, None
    return backend, (prefix, suffix, sink.deliver)


def _log_sink(options: argparse.Namespace, locks: Path | None) -> Sink:
    if options.audit_log_path == STDOUT:
        return StreamLog(lock=FileLock(locks / "audit-write") if locks is not None else None)
    rotation = Rotation(
        options.audit_log_maxsize,
        options.audit_log_maxbackup,
        options.audit_log_maxage,
        options.audit_log_compress,
    )
    path = Path(options.audit_log_path)
    try:
        if locks is not None:
            return FileLog(SharedFile(path, rotation, locks))
        return FileLog(RotatingFile(path, rotation))
    except OSError as error:
        reason = error.strerror or str(error)
        raise AuditError(
            f"--audit-log-path: cannot open {options.audit_log_path}: {reason}"
        ) from None


def _webhook(options: argparse.Namespace, version: str) -> Backend:
    flags = backend_flags(options, "webhook")
    try:
        poster = JsonPoster(load_client_config(options.audit_webhook_config_file))
    except ClientConfigError as error:
        raise AuditError(f"--audit-webhook-config-file: {error}") from None
    sink = Webhook(poster, version, options.audit_webhook_initial_backoff)
    return _in_mode(flags, _shape(flags, "{", ""), sink, concurrent=True)


def _shape(flags: BackendFlags, prefix: str, suffix: str) -> Shape:
    if flags.limits is None:
        return in_json(prefix, suffix)
    return truncated(flags.limits, prefix, suffix)


def _in_mode(flags: BackendFlags, shape: Shape, sink: Sink, *, concurrent: bool) -> Backend:
    if flags.mode != BATCH:
        return Blocking(shape, sink, strict=flags.mode == STRICT)
    batch_bytes = flags.limits.batch if flags.limits is not None else MAX_BATCH_BYTES
    return Buffer(shape, sink, flags.batching, batch_bytes=batch_bytes, concurrent=concurrent)
