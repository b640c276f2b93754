"""The command line of `fairlead serve`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fairlead.admission.configuration import FLAG as CONFIGURATION_FLAG
from fairlead.api.audit.flags import add_audit_flags
from fairlead.auth.authentication.flags import add_authentication_flags, switch
from fairlead.auth.authorization.modes import DEFAULT_MODES, MODES, parse_modes
from fairlead.base.dialect import DIALECTS
from fairlead.base.logs import JSON, TEXT
from fairlead.base.release import RELEASES
from fairlead.controllers.catalogue import DEFAULT_CONTROLLERS, parse_controllers
from fairlead.controllers.certificates.flags import add_signing_flags
from fairlead.controllers.servers.flags import add_servers_flags
from fairlead.process.flags.simulation import add_simulation_flags
from fairlead.process.flags.storage import add_storage_flags
from fairlead.process.flags.values import (
    address,
    checked,
    duration,
    host,
    port,
    rate,
    release,
    share,
    whole_number,
)
from fairlead.resources.core.services.allocation import (
    DEFAULT_NETWORKS,
    DEFAULT_PORTS,
    parse_networks,
    parse_ports,
)
from fairlead.storage.etcd.flags import add_etcd_flags
from fairlead.storage.etcd.overrides import add_override_flag
from fairlead.wire.incoming.limits import MAX_CONNECTIONS, MAX_CONNECTIONS_OF_AN_ADDRESS
from fairlead.wire.outgoing.flags import add_reaching_flags

MAX_WORKERS = 64


def add_serve_flags(parser: argparse.ArgumentParser) -> None:
    """Add every flag, in the groups that the help shows."""
    _add_serving_flags(parser)
    add_storage_flags(parser)
    add_override_flag(add_etcd_flags(parser, duration, whole_number))
    _add_api_flags(parser)
    _add_controller_flags(parser)
    add_servers_flags(parser, duration, whole_number)
    _add_admission_flags(parser)
    add_authentication_flags(parser, duration)
    _add_authorization_flags(parser)
    add_signing_flags(parser, duration)
    add_reaching_flags(parser)
    add_audit_flags(parser, duration, whole_number)
    add_simulation_flags(parser)


# Name, default and help text of flags.
_REQUESTS = (
    ("--max-requests-inflight", 400, "maximum number of concurrent read requests; 0 for no limit"),
    (
        "--max-mutating-requests-inflight",
        200,
        "maximum number of concurrent write requests; 0 for no limit",
    ),
    (
        "--min-request-timeout",
        1800,
        "minimum duration of a watch in seconds, maximum twice that, unless the client sets one",
    ),
)
_PERIODS = (
    (
        "--livez-grace-period",
        0.0,
        "time after the start in which /livez succeeds although the start is not complete",
    ),
    (
        "--shutdown-delay-duration",
        0.0,
        "time between the failure of /readyz and the end of service at shutdown",
    ),
    (
        "--shutdown-grace",
        10.0,
        "how long shutdown waits for running requests; a second signal ends the process at once",
    ),
    ("--request-timeout", 60.0, "maximum duration of a request, except watches and other streams"),
)
_CONNECTIONS = (
    (
        "--max-connections",
        MAX_CONNECTIONS,
        "maximum number of open connections; 0 for as many as the machine allows",
    ),
    (
        "--max-connections-per-address",
        MAX_CONNECTIONS_OF_AN_ADDRESS,
        "maximum number of open connections from one client address; 0 for no limit",
    ),
)


def _add_serving_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Serving")
    flag = group.add_argument
    flag(
        "--dialect",
        choices=sorted(DIALECTS),
        default="cluster",
        help="names of groups, labels and namespaces; kubectl and other stock"
        " clients need kubernetes",
    )
    flag(
        "--release",
        choices=sorted(RELEASES),
        help="release of the API to serve; by default 1.36 with --dialect kubernetes, 1.25 with"
        " cluster",
    )
    flag("--bind-address", type=address, default="127.0.0.1", help="address to listen on")
    flag("--secure-port", type=port, default=6443, help="port to listen on; 0 takes a free one")
    flag(
        "--advertise-address",
        type=host,
        default="",
        help="address at which clients reach this server",
    )
    _add_certificate_flags(group)
    switch(
        group,
        "--aggregator-reject-forwarding-redirect",
        True,
        "refuse redirects that an extension server answers with",
    )
    switch(group, "--console", True, "serve the web console at /console/")
    for name, maximum, text in _REQUESTS:
        flag(name, type=whole_number, default=maximum, metavar="N", help=text)
    switch(
        group,
        "--enable-priority-and-fairness",
        True,
        "share the sum of both limits among priority levels, and queue requests above it",
    )
    for name, seconds, text in _PERIODS:
        flag(name, type=duration, default=seconds, metavar="DURATION", help=text)
    for name, maximum, text in _CONNECTIONS:
        flag(name, type=whole_number, default=maximum, metavar="N", help=text)
    _add_log_flags(group)


def _add_certificate_flags(group: argparse._ArgumentGroup) -> None:
    flag = group.add_argument
    flag(
        "--tls-cert-file",
        type=Path,
        metavar="FILE",
        help="serving certificate, in place of the generated one",
    )
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    flag(
        "--proxy-client-cert-file",
        type=Path,
        metavar="FILE",
        help="client certificate for extension servers, in place of the generated one",
    )
    flag("--proxy-client-key-file", type=Path, metavar="FILE", help="its key")


def _add_log_flags(group: argparse._ArgumentGroup) -> None:
    flag = group.add_argument
    flag(
        "-v",
        "--v",
        dest="verbosity",
        type=whole_number,
        nargs="?",
        const=1,
        default=0,
        metavar="N",
        help="log verbosity: 1 adds a line for every request, 2 adds debug messages",
    )
    flag(
        "--verbosity-file",
        type=Path,
        metavar="FILE",
        help="file with a number that replaces that of --v; SIGHUP reads it again",
    )
    flag(
        "--log-format",
        "--logging-format",
        choices=(TEXT, JSON),
        default=TEXT,
        help="format of the log; json writes one object per line",
    )

    flag(
        "--tracing-config-file",
        type=Path,
        metavar="FILE",
        help="TracingConfiguration file: where traces of requests are sent, and of how many",
    )


def _add_api_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("API").add_argument
    flag(
        "--runtime-config",
        action="append",
        default=[],
        metavar="KEY[=BOOL]",
        help="group versions and resources to enable or disable",
    )
    flag(
        "--feature-gates",
        action="append",
        default=[],
        metavar="NAME=BOOL",
        help="features to enable or disable",
    )
    flag(
        "--service-cluster-ip-range",
        type=checked(parse_networks),
        default=DEFAULT_NETWORKS,
        metavar="CIDRS",
        help="networks for the cluster IPs of services: one, or one of each address family",
    )
    flag(
        "--service-node-port-range",
        type=checked(parse_ports),
        default=DEFAULT_PORTS,
        metavar="LOW-HIGH",
        help="range of ports for services on nodes",
    )
    flag(
        "--event-ttl",
        type=duration,
        default=3600.0,
        metavar="DURATION",
        help="how long events are kept after their last write; 0 keeps them for ever",
    )
    flag(
        "--advertised-version",
        type=release,
        metavar="VERSION",
        help="version that /version reports; by default that of --release",
    )


def _add_controller_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Controllers").add_argument
    flag(
        "--controllers",
        type=checked(parse_controllers),
        action="append",
        default=[],
        metavar="NAMES",
        help="controllers to run: * for all that are on by default, NAME to add one, -NAME to leave"
        f" one out; by default {DEFAULT_CONTROLLERS}",
    )

    flag(
        "--root-ca-file",
        type=Path,
        metavar="FILE",
        help="CA bundle that every namespace gets, for clients to verify the server;"
        " by default the server's own CA",
    )
    for name, read, default, metavar, text in _CONTROLLER_FLAGS:
        flag(name, type=read, default=default, metavar=metavar, help=text)


# Name, parser, default, metavar and help text of flags.
_CONTROLLER_FLAGS: tuple[tuple[str, Callable[[str], object], object, str, str], ...] = (
    (
        "--terminated-pod-gc-threshold",
        whole_number,
        12500,
        "N",
        "number of terminated pods that are kept; 0 for no limit",
    ),
    (
        "--node-monitor-grace-period",
        duration,
        40.0,
        "DURATION",
        "how long a node may send no heartbeat before its conditions become Unknown",
    ),
    (
        "--node-startup-grace-period",
        duration,
        60.0,
        "DURATION",
        "the same for a node that has sent no heartbeat yet",
    ),
    (
        "--node-monitor-period",
        duration,
        5.0,
        "DURATION",
        "how long a node must be lost before its pods are evicted",
    ),
    (
        "--node-eviction-rate",
        rate,
        0.1,
        "RATE",
        "nodes per second whose pods are evicted, in one zone",
    ),
    (
        "--secondary-node-eviction-rate",
        rate,
        0.01,
        "RATE",
        "the same in a large zone that is disrupted",
    ),
    (
        "--unhealthy-zone-threshold",
        share,
        0.55,
        "SHARE",
        "fraction of nodes that are not ready from which a zone is disrupted",
    ),
    (
        "--large-cluster-size-threshold",
        whole_number,
        50,
        "N",
        (
            "number of nodes above which a zone is large; in a small disrupted zone"
            " no pods are evicted"
        ),
    ),
)


def _add_admission_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Admission").add_argument
    for verb in ("enable", "disable"):
        flag(
            f"--{verb}-admission-plugins",
            action="append",
            default=[],
            metavar="NAMES",
            help=f"admission plugins to {verb}, in addition to the defaults",
        )
    flag(
        f"--{CONFIGURATION_FLAG}",
        type=Path,
        metavar="FILE",
        help="AdmissionConfiguration file with the settings of plugins",
    )


def _add_authorization_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Authorization").add_argument
    flag(
        "--authorization-mode",
        type=checked(parse_modes),
        metavar="MODES",
        help=f"authorizers that decide, in this order: {', '.join(MODES)}; by default"
        f" {','.join(DEFAULT_MODES)}",
    )
    flag(
        "--authorization-config",
        type=Path,
        metavar="FILE",
        help="AuthorizationConfiguration file with the authorizers, in place of"
        " --authorization-mode; reloaded when it changes; from 1.36 on",
    )
    flag(
        "--authorization-policy-file",
        type=Path,
        metavar="FILE",
        help="policies of the mode ABAC, one JSON object a line",
    )
    flag(
        "--authorization-webhook-config-file",
        type=Path,
        metavar="FILE",
        help="client configuration of the service that the mode Webhook calls",
    )
    flag(
        "--authorization-webhook-version",
        choices=("v1beta1", "v1"),
        default="v1beta1",
        help="API version of the reviews that are sent to it",
    )
    flag(
        "--authorization-webhook-cache-authorized-ttl",
        type=duration,
        default=300.0,
        metavar="DURATION",
        help="how long its answers that allow are cached",
    )
    flag(
        "--authorization-webhook-cache-unauthorized-ttl",
        type=duration,
        default=30.0,
        metavar="DURATION",
        help="how long its answers that refuse are cached",
    )
