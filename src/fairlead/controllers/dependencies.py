"""The dependencies that controllers are built from."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from fairlead.auth.authentication.user import User
from fairlead.base.dialect import Dialect
from fairlead.controllers.events import EventWriter, Recorder
from fairlead.controllers.framework import (
    Controller,
    LazyController,
    Reconciler,
    controller_user,
    manager_user,
)
from fairlead.controllers.namespace_remains import NoRemoteResources, RemoteResources
from fairlead.controllers.nodes.pods_by_node import PodsByNode
from fairlead.controllers.pod_members import PODS, SelectedPods
from fairlead.controllers.service_endpoints.pods import ServicePods, facts_of, selector_of
from fairlead.controllers.workloads import index
from fairlead.controllers.workloads import pods as workloads_pods
from fairlead.operations.api import Api
from fairlead.operations.client import Client


@dataclass(frozen=True)
class Dependencies:
    """The parts of a server that controllers need, and indexes they share.

    `privileged`: the authorizer ignores roles, so the controllers' users need all rights. `ca` and
    `ca_key` are the certificate and key of the server's CA, `root_ca` is the bundle that clients
    trust, `address` is where clients reach the server.
    """

    api: Api
    options: argparse.Namespace
    ca: Path
    ca_key: Path
    root_ca: Path
    address: str
    privileged: bool
    events: EventWriter = field(default_factory=EventWriter)
    remote: RemoteResources = field(default_factory=NoRemoteResources)

    @property
    def dialect(self) -> Dialect:
        return self.api.dialect

    @cached_property
    def pods_by_node(self) -> PodsByNode:
        return PodsByNode(self.api)

    def close(self) -> None:
        """Unsubscribe shared indexes from the store after the controllers have ended."""
        if "pods_by_node" in self.__dict__:
            self.pods_by_node.close()

    @cached_property
    def service_pods(self) -> ServicePods:
        """The pods of each service; shared by controllers."""
        pods = self.api.collection(self.api.resources.named(PODS))
        return SelectedPods(pods, selector_of, facts_of)

    def client(self, name: str) -> Client:
        """An API client with the user and role of the named controller. All controllers write with
        one field manager."""
        return Client(self.api, self.user(name), self.name)

    @property
    def name(self) -> str:
        """The shared name of all controllers, used as field manager."""
        return f"{self.dialect.system_prefix}-controller-manager"

    def user(self, name: str) -> User:
        return controller_user(self.dialect, name, privileged=self.privileged)

    def manager(self) -> Client:
        """An API client for controllers without a role of their own."""
        return Client(self.api, manager_user(self.dialect, privileged=self.privileged))

    def recorder(self, client: Client, component: str) -> Recorder:
        return Recorder(self.events, client, component)

    @cached_property
    def pods(self) -> index.Owned[workloads_pods.Pod]:
        """Pods by their owning controller; shared by all controllers that create pods."""
        return index.Owned(
            self.api.collection(self.api.resources.named(PODS)), workloads_pods.read_pod
        )


Build = Callable[[Dependencies], Controller | LazyController]


class LazyBuild(NamedTuple):
    """How to build a controller whose modules are loaded only when it has work."""

    name: str
    woken_by: Sequence[str]
    build: Callable[[Dependencies], Reconciler]


def built(build: Build | LazyBuild, dependencies: Dependencies) -> Controller | LazyController:
    if isinstance(build, LazyBuild):
        return LazyController(build.name, build.woken_by, partial(build.build, dependencies))
    return build(dependencies)
