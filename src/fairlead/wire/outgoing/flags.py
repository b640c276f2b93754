"""Command line flags for reaching nodes, pods and services."""

from __future__ import annotations

import argparse
import ssl
from pathlib import Path

from fairlead.wire.outgoing.addresses import AddressPolicy, parse_allowed
from fairlead.wire.outgoing.certificates import BundleError
from fairlead.wire.outgoing.client_config import error_reason
from fairlead.wire.outgoing.cluster import ClusterDialer
from fairlead.wire.outgoing.handshake import trusting
from fairlead.wire.outgoing.tls import unchecked
from fairlead.wire.outgoing.webhooks import (
    AddressMapError,
    Find,
    SimulatedAddress,
    Webhooks,
    parse_address_map,
)


class ReachError(ValueError):
    """Invalid settings; the text names the flag."""


def add_reaching_flags(parser: argparse.ArgumentParser) -> None:
    flag = parser.add_argument_group("Nodes, pods and services").add_argument
    flag(
        "--proxy-allowed-networks",
        default="",
        metavar="CIDRS",
        help="loopback and link-local networks that proxies to nodes, pods and"
        " services may reach, such as 127.0.0.0/8",
    )
    flag(
        "--kubelet-certificate-authority",
        type=Path,
        metavar="FILE",
        help="CA bundle for the nodes' agents; without it their certificates are not verified",
    )
    flag(
        "--kubelet-client-certificate",
        type=Path,
        metavar="FILE",
        help="client certificate for the nodes' agents",
    )
    flag("--kubelet-client-key", type=Path, metavar="FILE", help="its key")
    flag(
        "--service-address-map",
        default="",
        metavar="MAP",
        help="addresses of services that are webhooks or extension servers, as"
        " namespace/name[:port]=host:port,...; other services are reached"
        " through their endpoints or cluster IP",
    )


def build_reach(options: argparse.Namespace) -> ClusterDialer:
    """Build the access to nodes and pods from the flags; raises ReachError."""
    try:
        allowed = parse_allowed(options.proxy_allowed_networks)
    except ValueError as error:
        raise ReachError(f"--proxy-allowed-networks: {error}") from None
    checking = _agent_tls(options, options.kubelet_certificate_authority)
    return ClusterDialer(AddressPolicy(allowed), checking, _agent_tls(options, None))


def build_webhooks(
    options: argparse.Namespace, find: Find, simulated_address: SimulatedAddress | None = None
) -> Webhooks:
    """Build the webhook client from the flags; raises ReachError."""
    try:
        addresses = parse_address_map(options.service_address_map)
        allowed = parse_allowed(options.proxy_allowed_networks)
    except AddressMapError as error:
        raise ReachError(f"--service-address-map: {error}") from None
    except ValueError as error:
        raise ReachError(f"--proxy-allowed-networks: {error}") from None
    return Webhooks(find, addresses, AddressPolicy(allowed), simulated_address)


def _agent_tls(options: argparse.Namespace, authority: Path | None) -> ssl.SSLContext | None:
    certificate: Path | None = options.kubelet_client_certificate
    key: Path | None = options.kubelet_client_key
    if (certificate is None) != (key is None):
        raise ReachError("--kubelet-client-certificate and --kubelet-client-key go together")
    if authority is None and certificate is None:
        return None
    try:
        context = trusting(authority.read_bytes()) if authority is not None else unchecked()
    except (OSError, BundleError) as error:
        reason = error_reason(error, "holds nothing usable")
        raise ReachError(f"--kubelet-certificate-authority {authority}: {reason}") from None
    if certificate is not None and key is not None:
        try:
            context.load_cert_chain(certificate, key)
        except OSError as error:
            reason = error_reason(error, "holds nothing usable")
            raise ReachError(f"--kubelet-client-certificate {certificate}: {reason}") from None
    return context
