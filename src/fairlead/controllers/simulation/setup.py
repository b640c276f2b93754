"""Assembles the simulation and defines its flag."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from fairlead.auth.authorization.modes import parse_modes
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Controller
from fairlead.controllers.simulation.agent.controller import PodAgents
from fairlead.controllers.simulation.fleet import MOST_NODES, PODS, SCHEDULER, Fleet, scheduler_user
from fairlead.controllers.simulation.logs import SimulatedContainers
from fairlead.controllers.simulation.nodes import NodeKeeper
from fairlead.controllers.simulation.scheduler.controller import Scheduler
from fairlead.controllers.surroundings import Surroundings
from fairlead.operations.api import Api
from fairlead.operations.client import Client, own_client


def answer_for_containers(api: Api, options: argparse.Namespace) -> None:
    """Serve logs of simulated containers in this process, also if another runs the nodes."""
    simulated = api.simulated = SimulatedContainers(_fleet(api, options))
    pods = api.collection(api.resources.named(PODS))
    api.store.follow(pods, simulated.changed, essential=False, replay=False)


def _fleet(api: Api, options: argparse.Namespace) -> Fleet:
    modes = parse_modes(options.authorization_mode)
    return Fleet(api, options.simulate_nodes, privileged="Node" not in modes)


def build_simulation(given: Surroundings, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of the simulation. `running` are the names of the server's controllers."""
    api, options = given.api, given.options
    fleet = _fleet(api, options)
    # New nodes have a not-ready taint, which the node lifecycle controller removes if it runs.
    alone = "nodelifecycle" not in running
    greet = own_client(api) if alone else None
    agents = PodAgents(api, fleet, given.events)
    scheduler = Client(api, scheduler_user(given.dialect, privileged=given.privileged))
    recorder = Recorder(given.events, scheduler, SCHEDULER)
    return (
        NodeKeeper(fleet, given.dialect, options.advertised_version, greet),
        agents,
        Scheduler(api, fleet, scheduler, recorder),
    )


# The flag of the simulation.


def add_simulation_flags(
    parser: argparse.ArgumentParser, whole_number: Callable[[str], int]
) -> None:
    def count(text: str) -> int:
        found = whole_number(text)
        if found > MOST_NODES:
            raise argparse.ArgumentTypeError(f"{text} are too many nodes: {MOST_NODES} at most")
        return found

    parser.add_argument_group("Simulation").add_argument(
        "--simulate-nodes",
        type=count,
        default=0,
        metavar="N",
        help="nodes without machines, with a scheduler for them; pods go through their lives there",
    )
