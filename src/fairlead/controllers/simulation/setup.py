"""Assembles the simulation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Controller
from fairlead.controllers.simulation.agent.controller import PodAgents
from fairlead.controllers.simulation.nodes import NodeKeeper
from fairlead.controllers.simulation.scheduler.controller import Scheduler
from fairlead.controllers.simulation.simulated_containers import SimulatedContainers
from fairlead.controllers.simulation.simulated_nodes import (
    PODS,
    SCHEDULER,
    SimulatedNodes,
    scheduler_user,
)
from fairlead.operations.api import Api
from fairlead.operations.client import Client, own_client


def answer_for_containers(api: Api, options: argparse.Namespace) -> None:
    """Serve logs of simulated containers in this process, also if another runs the nodes."""
    simulated = api.simulated = SimulatedContainers(api, _simulated_nodes(api, options))
    pods = api.collection(api.resources.named(PODS))
    api.store.follow(pods, simulated.changed, essential=False, replay=False)


def _simulated_nodes(api: Api, options: argparse.Namespace) -> SimulatedNodes:
    privileged = "Node" not in api.authorizer.mode_names
    return SimulatedNodes(api, options.simulate_nodes, privileged=privileged)


def build_simulation(dependencies: Dependencies, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of the simulation. `running` are the names of the server's controllers."""
    api, options = dependencies.api, dependencies.options
    simulated_nodes = _simulated_nodes(api, options)
    # New nodes have a not-ready taint, which the node lifecycle controller removes if it runs.
    alone = "nodelifecycle" not in running
    greet = own_client(api) if alone else None
    agents = PodAgents(api, simulated_nodes, dependencies.events)
    scheduler = Client(
        api, scheduler_user(dependencies.dialect, privileged=dependencies.privileged)
    )
    recorder = Recorder(dependencies.events, scheduler, SCHEDULER)
    version = options.advertised_version or api.resources.release.advertised
    return (
        NodeKeeper(simulated_nodes, dependencies.dialect, version, greet),
        agents,
        Scheduler(api, simulated_nodes, scheduler, recorder),
    )
