"""Assembles what a cloud provider does around simulated nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.framework import Controller, LazyController, Reconciler
from fairlead.controllers.simulation.cloud import ingresses, provisioner
from fairlead.controllers.simulation.cloud.addresses import CloudAddresses
from fairlead.controllers.simulation.cloud.default_class import DefaultClass
from fairlead.controllers.simulation.cloud.load_balancers import LoadBalancers
from fairlead.controllers.simulation.cloud.volumes import DRIVER
from fairlead.controllers.volumes.names import CLAIMS, VOLUMES
from fairlead.operations.client import Client, system_user
from fairlead.resources.core.services.allocation import parse_networks

_MANAGER = "simulated-cloud"
_INGRESSES = "networking/v1/ingresses", "networking/v1/ingressclasses"


def build_cloud(dependencies: Dependencies) -> Sequence[Controller | LazyController]:
    """The controllers that the flags of the simulation ask for."""
    ranges = dependencies.options.simulate_load_balancers
    built: list[Controller | LazyController] = []
    if ranges:
        addresses = CloudAddresses(parse_networks(ranges))
        built.append(_load_balancers(dependencies, addresses))
        build = partial(_ingresses, dependencies, addresses)
        built.append(LazyController("simulated-ingresses", _INGRESSES, build))
    if class_name := dependencies.options.simulate_storage_class:
        client = _client(dependencies)
        built.append(DefaultClass(client, dependencies.dialect, class_name))
    woken_by = CLAIMS, VOLUMES
    built.append(
        LazyController("simulated-provisioner", woken_by, partial(_provisioner, dependencies))
    )
    return built


def _client(dependencies: Dependencies) -> Client:
    return Client(dependencies.api, system_user(_MANAGER), _MANAGER)


def _load_balancers(dependencies: Dependencies, addresses: CloudAddresses) -> Controller:
    client = dependencies.client("service-controller")
    recorder = dependencies.recorder(client, "service-controller")
    return LoadBalancers(dependencies.api, client, recorder, addresses)


def _ingresses(dependencies: Dependencies, addresses: CloudAddresses) -> Reconciler:
    client = _client(dependencies)
    recorder = dependencies.recorder(client, "ingress-controller")
    patterns = dependencies.options.simulate_ingress_classes.split(",")
    classes = [pattern.strip() for pattern in patterns if pattern.strip()]
    return ingresses.IngressAddresses(dependencies.api, client, recorder, addresses, classes)


def _provisioner(dependencies: Dependencies) -> Reconciler:
    client = _client(dependencies)
    return provisioner.Provisioner(dependencies.api, client, dependencies.recorder(client, DRIVER))
