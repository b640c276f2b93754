"""Command line flags of the audit log."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from fairlead.api.audit import metrics as metrics  # registers them even without a log
from fairlead.api.audit.policy import Batching, Limits, api_version
from fairlead.auth.authentication.flags import switch
from fairlead.base.dialect import DIALECTS

BATCH, BLOCKING, STRICT = MODES = ("batch", "blocking", "blocking-strict")
JSON, LEGACY = FORMATS = ("json", "legacy")
_VERSIONS = tuple(map(api_version, DIALECTS.values()))

Reads = Callable[[str], Any]


class AuditFlagError(ValueError):
    """Invalid flags; the message names them."""


class _Defaults(NamedTuple):
    mode: str
    batching: Batching
    throttled: bool


_BACKENDS = {
    "log": _Defaults(BLOCKING, Batching(10_000, 1, 0.0, 0.0, 0), False),
    "webhook": _Defaults(BATCH, Batching(10_000, 400, 30.0, 10.0, 15), True),
}


def wants_audit(options: argparse.Namespace) -> bool:
    """Whether any audit flag is set, so that there is an auditor to build or a warning to log."""
    values = (options.audit_policy_file, options.audit_log_path, options.audit_webhook_config_file)
    return any(values)


def add_audit_flags(parser: argparse.ArgumentParser, duration: Reads, whole_number: Reads) -> None:
    """Add the flags. `duration` and `whole_number` parse their values."""
    group = parser.add_argument_group("Audit log")
    flag = group.add_argument
    flag(
        "--audit-policy-file",
        type=Path,
        metavar="FILE",
        help="audit policy: what is logged of which requests; without it nothing is logged",
    )
    flag(
        "--audit-log-path",
        default="",
        metavar="FILE",
        help="file that events are written to; - is the standard output",
    )
    _number(
        group, "--audit-log-maxage", whole_number, 0, "days after which rotated files are deleted"
    )
    _number(
        group, "--audit-log-maxbackup", whole_number, 0, "number of rotated files that are kept"
    )
    _number(
        group,
        "--audit-log-maxsize",
        whole_number,
        0,
        "megabytes after which a file is rotated; 0 means 100",
    )
    switch(group, "--audit-log-compress", False, "compress rotated files")
    flag("--audit-log-format", choices=FORMATS, default=JSON, help="format of events")
    _add_backend(group, "log", duration, whole_number)
    flag(
        "--audit-webhook-config-file",
        type=Path,
        metavar="FILE",
        help="client configuration of the service that events are posted to",
    )
    flag(
        "--audit-webhook-initial-backoff",
        type=duration,
        default=10.0,
        help="pause before the first retry of a failed call",
    )
    _add_backend(group, "webhook", duration, whole_number)


def _number(
    parser: argparse._ActionsContainer, name: str, parse: Reads, default: int, text: str
) -> None:
    parser.add_argument(name, type=parse, default=default, metavar="NUMBER", help=text)


def _add_backend(
    parser: argparse._ActionsContainer, name: str, duration: Reads, whole_number: Reads
) -> None:
    mode, batching, throttled = _BACKENDS[name]
    flag, prefix = parser.add_argument, f"--audit-{name}"
    flag(
        f"{prefix}-mode",
        choices=MODES,
        default=mode,
        help="batch does not delay requests; blocking makes them wait for their events;"
        " blocking-strict also fails them if an event is lost",
    )
    flag(f"{prefix}-version", choices=_VERSIONS, help="API version of events")
    for words, default, text in (
        ("buffer-size", batching.buffer_size, "maximum number of buffered events"),
        ("max-size", batching.max_size, "maximum number of events in a batch"),
        ("throttle-burst", batching.burst, "maximum burst of batches"),
    ):
        _number(parser, f"{prefix}-batch-{words}", whole_number, default, f"in batch mode: {text}")
    flag(
        f"{prefix}-batch-max-wait",
        type=duration,
        default=batching.max_wait,
        help="in batch mode: maximum time until a batch is sent",
    )
    flag(
        f"{prefix}-batch-throttle-qps",
        type=_rate,
        default=int(batching.qps),
        metavar="NUMBER",
        help="in batch mode: average number of batches per second",
    )
    switch(
        parser,
        f"{prefix}-batch-throttle-enable",
        throttled,
        "in batch mode: limit the rate of batches",
    )
    switch(
        parser,
        f"{prefix}-truncate-enabled",
        False,
        "drop the bodies of requests and answers from events that are too large, then the events",
    )
    for words, size, text in (
        ("max-event-size", 100 * 1024, "maximum bytes of an event"),
        ("max-batch-size", 10 * 1024 * 1024, "maximum bytes of a batch"),
    ):
        _number(
            parser, f"{prefix}-truncate-{words}", whole_number, size, f"with truncation: {text}"
        )


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of batches a second")
    return value


class BackendFlags(NamedTuple):
    """The flags of one backend."""

    mode: str
    batching: Batching
    limits: Limits | None


def backend_flags(options: argparse.Namespace, name: str) -> BackendFlags:
    def flag_value(flag_name: str) -> Any:
        return getattr(options, f"audit_{name}_{flag_name}")

    batching = Batching(
        flag_value("batch_buffer_size"),
        flag_value("batch_max_size"),
        flag_value("batch_max_wait"),
        flag_value("batch_throttle_qps") if flag_value("batch_throttle_enable") else 0.0,
        flag_value("batch_throttle_burst"),
    )
    limits = Limits(flag_value("truncate_max_event_size"), flag_value("truncate_max_batch_size"))
    return BackendFlags(
        flag_value("mode"), batching, limits if flag_value("truncate_enabled") else None
    )


def check_audit_flags(options: argparse.Namespace) -> None:
    """Raises AuditFlagError for invalid combinations."""
    for name in _BACKENDS:
        _check_backend(options, name)
    for name in _BACKENDS:
        version = getattr(options, f"audit_{name}_version")
        own_version = api_version(DIALECTS[options.dialect])
        if version not in (None, own_version):
            raise AuditFlagError(
                f"--audit-{name}-version: only {own_version} is known in this dialect"
            )


def _check_backend(options: argparse.Namespace, name: str) -> None:
    def positive(flag_name: str) -> None:
        if not getattr(options, f"audit_{name}_{flag_name}") > 0:
            flag = f"--audit-{name}-{flag_name.replace('_', '-')}"
            raise AuditFlagError(f"{flag}: must be a positive number")

    flags = backend_flags(options, name)
    if flags.mode == BATCH:
        positive("batch_buffer_size")
        positive("batch_max_size")
        if getattr(options, f"audit_{name}_batch_throttle_enable"):
            positive("batch_throttle_qps")
            positive("batch_throttle_burst")
    if flags.limits is not None:
        positive("truncate_max_event_size")
        if flags.limits.batch < flags.limits.event:
            raise AuditFlagError(
                f"--audit-{name}-truncate-max-batch-size: must be greater than the event size"
                f" ({flags.limits.event})"
            )
