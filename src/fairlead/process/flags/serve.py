"""The command line of `fairlead serve`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fairlead.admission.configuration import FLAG as CONFIGURATION_FLAG
from fairlead.api.audit.flags import add_audit_flags
from fairlead.api.discovery import ADVERTISED
from fairlead.auth.authentication.flags import add_authentication_flags, switch
from fairlead.auth.authorization.modes import DEFAULT_MODES, MODES, parse_modes
from fairlead.base.dialect import DIALECTS
from fairlead.base.logs import JSON, TEXT
from fairlead.controllers.catalogue import DEFAULT_CONTROLLERS, chosen_controllers
from fairlead.controllers.certificates.flags import add_signing_flags
from fairlead.controllers.servers.flags import add_servers_flags
from fairlead.controllers.simulation.flags import add_simulation_flags
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
from fairlead.resources.gates import parse_gates
from fairlead.storage.etcd.flags import add_etcd_flags
from fairlead.wire.incoming.limits import MAX_CONNECTIONS, MAX_CONNECTIONS_OF_AN_ADDRESS
from fairlead.wire.outgoing.flags import add_reaching_flags

MAX_WORKERS = 64


def add_serve_flags(parser: argparse.ArgumentParser) -> None:
    """Add every flag, in the groups that the help shows."""
    _add_serving_flags(parser)
    add_storage_flags(parser)
    add_etcd_flags(parser, duration, whole_number)
    _add_api_flags(parser)
    _add_controller_flags(parser)
    add_servers_flags(parser, duration, whole_number)
    _add_admission_flags(parser)
    add_authentication_flags(parser, duration)
    _add_authorization_flags(parser)
    add_signing_flags(parser, duration)
    add_reaching_flags(parser)
    add_audit_flags(parser, duration, whole_number)
    add_simulation_flags(parser, whole_number)


# Name, default and help text of flags.
_REQUESTS = (
    ("--max-requests-inflight", 400, "reading requests at once; 0 for no limit"),
    ("--max-mutating-requests-inflight", 200, "writing requests at once; 0 for no limit"),
    (
        "--min-request-timeout",
        1800,
        "seconds that a watch lasts at least, twice that at most, unless its client says how many",
    ),
)
_PERIODS = (
    ("--livez-grace-period", 0.0, "how long /livez holds while starting"),
    ("--shutdown-delay-duration", 0.0, "time between /readyz failing and the end of service"),
    (
        "--shutdown-grace",
        10.0,
        "how long requests under way may hold up the end; a second signal ends at once",
    ),
    ("--request-timeout", 60.0, "how long a request may take, watches and the like left out"),
)
_CONNECTIONS = (
    (
        "--max-connections",
        MAX_CONNECTIONS,
        "connections at once; 0 for as many as the machine allows",
    ),
    (
        "--max-connections-per-address",
        MAX_CONNECTIONS_OF_AN_ADDRESS,
        "connections at once of one client address; 0 for no limit",
    ),
)


def _add_serving_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Serving")
    flag = group.add_argument
    flag(
        "--dialect",
        choices=sorted(DIALECTS),
        default="cluster",
        help="names that are served; stock clients such as kubectl need kubernetes",
    )
    flag("--bind-address", type=address, default="127.0.0.1", help="address to listen on")
    flag("--secure-port", type=port, default=6443, help="port to listen on; 0 takes a free one")
    flag("--advertise-address", type=host, default="", help="address that clients are told")
    flag("--tls-cert-file", type=Path, metavar="FILE", help="serving certificate, not our own")
    flag("--tls-private-key-file", type=Path, metavar="FILE", help="its key")
    flag(
        "--proxy-client-cert-file",
        type=Path,
        metavar="FILE",
        help="certificate shown to extension servers, not our own",
    )
    flag("--proxy-client-key-file", type=Path, metavar="FILE", help="its key")
    switch(
        group,
        "--aggregator-reject-forwarding-redirect",
        True,
        "let no extension server send clients elsewhere",
    )
    switch(group, "--console", True, "serve the web console at /console/")
    for name, most, text in _REQUESTS:
        flag(name, type=whole_number, default=most, metavar="N", help=text)
    switch(
        group,
        "--enable-priority-and-fairness",
        True,
        "divide both together among priority levels, whose requests wait in queues",
    )
    for name, seconds, text in _PERIODS:
        flag(name, type=duration, default=seconds, metavar="DURATION", help=text)
    for name, most, text in _CONNECTIONS:
        flag(name, type=whole_number, default=most, metavar="N", help=text)
    flag(
        "-v",
        "--v",
        dest="verbosity",
        type=whole_number,
        nargs="?",
        const=1,
        default=0,
        metavar="N",
        help="what is logged beside warnings: 1 for every request, 2 for what helps to find faults",
    )
    flag(
        "--log-format",
        choices=(TEXT, JSON),
        default=TEXT,
        help="how lines of the log are written; json is one object a line",
    )


def _add_api_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("API").add_argument
    flag(
        "--runtime-config",
        action="append",
        default=[],
        metavar="KEY[=BOOL]",
        help="group versions and resources to switch on or off",
    )
    flag(
        "--feature-gates",
        type=checked(parse_gates),
        action="append",
        default=[],
        metavar="NAME=BOOL",
        help="features to switch on or off",
    )
    flag(
        "--service-cluster-ip-range",
        type=checked(parse_networks),
        default=DEFAULT_NETWORKS,
        metavar="CIDRS",
        help="addresses of services; one network, or one of each family",
    )
    flag(
        "--service-node-port-range",
        type=checked(parse_ports),
        default=DEFAULT_PORTS,
        metavar="LOW-HIGH",
        help="ports of services on nodes",
    )
    flag(
        "--event-ttl",
        type=duration,
        default=3600.0,
        metavar="DURATION",
        help="how long events are kept after they were last written; 0 for ever",
    )
    flag(
        "--advertised-version",
        type=release,
        default=ADVERTISED,
        metavar="VERSION",
        help="release that /version tells",
    )


def _add_controller_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Controllers").add_argument
    flag(
        "--controllers",
        type=checked(chosen_controllers),
        action="append",
        default=[],
        metavar="NAMES",
        help="controllers that run: * for all that are on by default, a name to add one, -name to"
        f" leave one out; by default {DEFAULT_CONTROLLERS}",
    )

    flag(
        "--root-ca-file",
        type=Path,
        metavar="FILE",
        help="CAs by which clients in namespaces are to know the server; by default our own",
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
        "pods that are through and may stay; 0 for no limit",
    ),
    (
        "--node-monitor-grace-period",
        duration,
        40.0,
        "DURATION",
        "how long a node may be silent before nothing is known of it",
    ),
    (
        "--node-startup-grace-period",
        duration,
        60.0,
        "DURATION",
        "the same for a node that has never said anything",
    ),
    (
        "--node-monitor-period",
        duration,
        5.0,
        "DURATION",
        "how long a node is seen not to be ready before pods are sent away from it",
    ),
    (
        "--node-eviction-rate",
        rate,
        0.1,
        "RATE",
        "nodes a second that pods are sent away from in a zone",
    ),
    (
        "--secondary-node-eviction-rate",
        rate,
        0.01,
        "RATE",
        "the same in a large zone of which much is lost",
    ),
    (
        "--unhealthy-zone-threshold",
        share,
        0.55,
        "SHARE",
        "the part of a zone that must be lost for it to be disrupted",
    ),
    (
        "--large-cluster-size-threshold",
        whole_number,
        50,
        "N",
        "nodes beyond which a zone is large; pods stay where they are in a small one",
    ),
)


def _add_admission_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Admission").add_argument
    for verb, text in (("enable", "on"), ("disable", "off")):
        flag(
            f"--{verb}-admission-plugins",
            action="append",
            default=[],
            metavar="NAMES",
            help=f"admission plugins to switch {text}, beside the defaults",
        )
    flag(
        f"--{CONFIGURATION_FLAG}",
        type=Path,
        metavar="FILE",
        help="AdmissionConfiguration with the settings of single plugins",
    )


def _add_authorization_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Authorization").add_argument
    flag(
        "--authorization-mode",
        type=checked(parse_modes),
        default=",".join(DEFAULT_MODES),
        metavar="MODES",
        help=f"who decides, in this order: {', '.join(MODES)}",
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
        help="client configuration of the service that the mode Webhook asks",
    )
    flag(
        "--authorization-webhook-version",
        choices=("v1beta1", "v1"),
        default="v1beta1",
        help="version of the reviews it is sent",
    )
    flag(
        "--authorization-webhook-cache-authorized-ttl",
        type=duration,
        default=300.0,
        metavar="DURATION",
        help="how long its allowing answers are kept",
    )
    flag(
        "--authorization-webhook-cache-unauthorized-ttl",
        type=duration,
        default=30.0,
        metavar="DURATION",
        help="how long its refusing answers are kept",
    )
