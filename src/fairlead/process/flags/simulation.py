"""The flags of simulated nodes and of what is simulated around them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from fairlead.auth.authentication.flags import switch
from fairlead.codec.types.names import is_dns_subdomain
from fairlead.controllers.simulation import setup
from fairlead.process.flags.values import checked, whole_number
from fairlead.resources.core.services.allocation import parse_networks

MAX_NODES = 5_000
# Reserved for benchmarks and for documentation: no host has such an address.
_BALANCER_NETWORKS = "198.18.0.0/15,2001:db8::/64"


def add_simulation_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Simulation")
    for name, read, default, metavar, text in _FLAGS:
        group.add_argument(name, type=read, default=default, metavar=metavar, help=text)
    switch(
        group,
        "--simulate-scheduler",
        True,
        "schedule pods to simulated nodes; false leaves that to another scheduler",
    )
    group.add_argument(
        "--simulate-stages",
        type=_stage_files,
        action="append",
        default=[],
        metavar="PATH",
        help="file or directory with Stage objects in the form of kwok, which are played;"
        " can be repeated",
    )


def _node_count(text: str) -> int:
    number = whole_number(text)
    if number > MAX_NODES:
        raise argparse.ArgumentTypeError(f"{text} are too many nodes: {MAX_NODES} at most")
    return number


def _networks(text: str) -> str:
    return checked(parse_networks)(text) if text else ""


def _class_name(text: str) -> str:
    if text and not is_dns_subdomain(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a StorageClass")
    return text


def _stage_files(text: str) -> Path:
    try:
        setup.read_stages(Path(text))
    except setup.StageFileError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)


# Name, parser, default, metavar and help text of flags.
_FLAGS: tuple[tuple[str, Callable[[str], object], object, str, str], ...] = (
    (
        "--simulate-nodes",
        _node_count,
        0,
        "N",
        (
            "number of simulated nodes, with a scheduler; pods on them start, run"
            " and end without containers"
        ),
    ),
    (
        "--simulate-static-pods",
        Path,
        None,
        "DIRECTORY",
        "manifests of pods that every simulated node runs, or the one that a pod names",
    ),
    (
        "--simulate-load-balancers",
        _networks,
        _BALANCER_NETWORKS,
        "CIDRS",
        (
            "networks for the addresses of load balancers and ingresses: one, or one of each"
            " address family; empty: none get an address"
        ),
    ),
    (
        "--simulate-ingress-classes",
        str,
        "*",
        "PATTERNS",
        (
            "ingress classes that get an address, beside those of the controller"
            " simulation.fairlead.dev/ingress"
        ),
    ),
    (
        "--simulate-storage-class",
        _class_name,
        "simulated",
        "NAME",
        "default StorageClass that is created if there is none; empty: none is created",
    ),
)
