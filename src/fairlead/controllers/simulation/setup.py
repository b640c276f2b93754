"""Assembles the simulation."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fairlead.controllers.dependencies import Dependencies
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Controller, LazyController
from fairlead.controllers.simulation.agent.controller import PodAgents
from fairlead.controllers.simulation.agent.handlers import Handlers
from fairlead.controllers.simulation.agent.pressure import Evictions, simulated_usage
from fairlead.controllers.simulation.behaviours import Behaviours
from fairlead.controllers.simulation.cloud.setup import build_cloud
from fairlead.controllers.simulation.definitions import STAGES, DefinitionInstaller
from fairlead.controllers.simulation.metrics.group import add_metrics_group as add_metrics_group
from fairlead.controllers.simulation.metrics.group import metrics_roles as metrics_roles
from fairlead.controllers.simulation.metrics.objects import SimulatedMetrics
from fairlead.controllers.simulation.nodes import NodeKeeper
from fairlead.controllers.simulation.scheduler.controller import Scheduler
from fairlead.controllers.simulation.simulated_containers import SimulatedContainers
from fairlead.controllers.simulation.simulated_nodes import (
    PODS,
    SCHEDULER,
    SimulatedNodes,
    node_names,
    scheduler_user,
)
from fairlead.controllers.simulation.stages.controller import StagePlayer
from fairlead.controllers.simulation.stages.files import StageFileError as StageFileError
from fairlead.controllers.simulation.stages.files import StageFiles
from fairlead.controllers.simulation.stages.files import read_stages as read_stages
from fairlead.controllers.simulation.static_pods import StaticPods
from fairlead.operations.api import Api
from fairlead.operations.client import Client, own_client


def answer_for_containers(api: Api, options: argparse.Namespace) -> Behaviours:
    """Serve logs of simulated containers in this process, also if another runs the nodes. Returns
    what the containers do."""
    behaviours = Behaviours(api)
    simulated_nodes, scripts = _simulated_nodes(api, options), behaviours.script_of
    metrics = SimulatedMetrics(api, simulated_nodes, scripts)
    simulated = SimulatedContainers(api, simulated_nodes, scripts, metrics)
    simulated.has_scheduler = options.simulate_scheduler
    api.simulated = simulated
    pods = api.collection(api.resources.named(PODS))
    api.store.follow(pods, simulated.changed, essential=False, replay=False)
    return behaviours


def _simulated_nodes(api: Api, options: argparse.Namespace) -> SimulatedNodes:
    privileged = "Node" not in api.authorizer.mode_names
    return SimulatedNodes(api, options.simulate_nodes, privileged=privileged)


def build_simulation(
    dependencies: Dependencies, running: frozenset[str], behaviours: Behaviours
) -> Sequence[Controller | LazyController]:
    """The controllers of the simulation. `running` are the names of the server's controllers."""
    api, options = dependencies.api, dependencies.options
    simulated_nodes = _simulated_nodes(api, options)
    # New nodes have a not-ready taint, which the node lifecycle controller removes if it runs.
    alone = "nodelifecycle" not in running
    greet = own_client(api) if alone else None
    placed: set[str] = set()
    simulated = api.simulated
    assert isinstance(simulated, SimulatedContainers)
    simulated.index.follow()
    handlers = Handlers(
        simulated.process,
        behaviours.script_of,
        simulated.server_of,
        simulated.network_of,
        simulated.main_process,
        simulated.computing,
    )
    agents = PodAgents(
        api,
        simulated_nodes,
        dependencies.events,
        behaviours,
        placed,
        handlers,
        simulated,
    )
    scheduler = Client(
        api, scheduler_user(dependencies.dialect, privileged=dependencies.privileged)
    )
    recorder = Recorder(dependencies.events, scheduler, SCHEDULER)
    version = options.advertised_version or api.resources.release.advertised
    controllers: list[Controller | LazyController] = [
        DefinitionInstaller(api, own_client(api)),
        *_stages(dependencies),
        NodeKeeper(api, simulated_nodes, version, greet, dependencies.events),
        agents,
        agents.probes,
        *build_cloud(dependencies),
        Evictions(
            api,
            simulated_nodes,
            agents.keys_on,
            simulated_usage(behaviours.script_of),
            dependencies.events,
        ),
    ]
    if options.simulate_static_pods is not None:
        controllers.append(
            StaticPods(api, simulated_nodes, options.simulate_static_pods, agents.keys_on)
        )
    if options.simulate_scheduler:
        controllers.append(Scheduler(api, simulated_nodes, scheduler, recorder, placed))
    return controllers


def build_stages(dependencies: Dependencies) -> Sequence[Controller]:
    """The controllers that play stages, without simulated nodes."""
    api = dependencies.api
    installer = DefinitionInstaller(api, own_client(api), (STAGES,))
    return (installer, *_stages(dependencies))


def _stages(dependencies: Dependencies) -> Sequence[Controller]:
    api, options = dependencies.api, dependencies.options
    player = StagePlayer(dependencies, node_names(options.simulate_nodes))
    if not options.simulate_stages:
        return (player,)
    return (player, StageFiles(own_client(api), options.simulate_stages))
