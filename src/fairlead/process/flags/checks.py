"""Checks the flags of `fairlead serve` as a whole, and finds those without effect."""

from __future__ import annotations

import argparse

from fairlead.admission.catalogue import PluginNameError, enabled_plugins
from fairlead.api.audit.flags import AuditFlagError, check_audit_flags
from fairlead.auth.authorization.modes import DEFAULT_MODES, ModeError, check_files, parse_modes
from fairlead.base.dialect import DIALECTS
from fairlead.base.release import RELEASES, Release
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.controllers.catalogue import parse_controllers
from fairlead.controllers.certificates.flags import SigningFlagError, check_signing_flags
from fairlead.controllers.servers.flags import ServersFlagError, check_servers_flags
from fairlead.controllers.simulation import setup as simulation
from fairlead.process.flags.serve import MAX_WORKERS
from fairlead.resources.gates import GateError, parse_gates
from fairlead.resources.registry import Resources
from fairlead.resources.runtime_config import RuntimeConfigError, apply_runtime_config
from fairlead.storage.etcd.flags import EtcdFlagError, check_etcd_flags, etcd_flags_without_effect
from fairlead.storage.etcd.overrides import check_overrides

# Checks by other parts of the server of their own flags.
_CHECKS = (
    check_signing_flags,
    check_etcd_flags,
    check_overrides,
    check_servers_flags,
    check_audit_flags,
)

# Flags of later releases, with their gates.
_GATED_FLAGS = {
    "--authentication-config": "StructuredAuthenticationConfiguration",
    "--authorization-config": "StructuredAuthorizationConfiguration",
    "--requestheader-uid-headers": "RemoteRequestHeaderUID",
}


class FlagError(ValueError):
    """Flags that cannot be combined; the message names them."""


def release_of(options: argparse.Namespace) -> Release:
    """Return the release that the options choose, by default that of their dialect."""
    return RELEASES[options.release or DIALECTS[options.dialect].default_release]


def check_flags(options: argparse.Namespace) -> None:
    """Check the combination of flags before anything is opened; raises FlagError."""
    if not 1 <= options.workers <= MAX_WORKERS:
        raise FlagError(f"--workers: must be from 1 to {MAX_WORKERS}")
    if options.testing and (options.workers > 1 or options.storage != "sqlite"):
        raise FlagError("--testing: needs --storage=sqlite and one worker")
    if options.testing and options.read_only:
        raise FlagError("--testing and --read-only do not go together")
    try:
        enabled_plugins(
            DIALECTS[options.dialect],
            release_of(options),
            ",".join(options.enable_admission_plugins),
            ",".join(options.disable_admission_plugins),
        )
    except PluginNameError as error:
        raise FlagError(str(error)) from None
    try:
        gates = parse_gates(",".join(options.feature_gates), release_of(options))
    except GateError as error:
        raise FlagError(f"--feature-gates: {error}") from None
    for flag, gate in _GATED_FLAGS.items():
        if getattr(options, flag[2:].replace("-", "_")) and not gates[gate]:
            raise FlagError(f"{flag}: release {gates.release.name} does not have this flag")
    _check_authorization(options)
    if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
        raise FlagError("--tls-cert-file and --tls-private-key-file go together")
    if bool(options.proxy_client_cert_file) != bool(options.proxy_client_key_file):
        raise FlagError("--proxy-client-cert-file and --proxy-client-key-file go together")
    try:
        for check in _CHECKS:
            check(options)
    except (SigningFlagError, EtcdFlagError, ServersFlagError, AuditFlagError) as error:
        raise FlagError(str(error)) from None
    if options.runtime_config:
        _check_runtime_config(options)


def _check_authorization(options: argparse.Namespace) -> None:
    webhook_file = options.authorization_webhook_config_file
    if options.authorization_config is not None:
        if options.authorization_mode is not None or webhook_file is not None:
            raise FlagError(
                "--authorization-config can not be specified when --authorization-mode or"
                " --authorization-webhook-* flags are defined"
            )
        return
    try:
        modes = parse_modes(options.authorization_mode or ",".join(DEFAULT_MODES))
        check_files(modes, bool(options.authorization_policy_file), bool(webhook_file))
    except ModeError as error:
        raise FlagError(f"--authorization-mode: {error}") from None


def _check_runtime_config(options: argparse.Namespace) -> None:
    dialect = DIALECTS[options.dialect]
    resources = Resources(dialect, BuiltinTypes(dialect, release_of(options)))
    if options.simulate_nodes:
        simulation.add_metrics_group(resources)
    try:
        apply_runtime_config(resources, options.runtime_config)
    except RuntimeConfigError as error:
        raise FlagError(f"--runtime-config: {error}") from None


def planned_flags(options: argparse.Namespace) -> list[str]:
    """Return the given flags and controllers that have no effect."""
    without_effect = parse_controllers(",".join(options.controllers)).without_effect
    controllers = [f"--controllers={name}" for name in without_effect]
    return etcd_flags_without_effect(options) + controllers
