"""Putting a simulation together: the flag, the parts, and what the rest of the server is told."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.authorization.modes import parse_modes
from fairlead.controllers.events import Recorder
from fairlead.controllers.framework import Controller
from fairlead.controllers.surroundings import Surroundings
from fairlead.operations.client import Client, system_user
from fairlead.simulation.agent.controller import PodAgents
from fairlead.simulation.fleet import Fleet
from fairlead.simulation.logs import SimulatedContainers
from fairlead.simulation.names import SCHEDULER, scheduler_user
from fairlead.simulation.nodes import NodeKeeper
from fairlead.simulation.scheduler.controller import Scheduler


def build_simulation(given: Surroundings, running: frozenset[str]) -> Sequence[Controller]:
    """The controllers of as many nodes as the flag says. `running` are the server's own ones."""
    api, options = given.api, given.options
    modes = parse_modes(options.authorization_mode)
    fleet = Fleet(api, options.simulate_nodes, privileged="Node" not in modes)
    # New nodes are tainted until somebody has seen that they are ready.
    alone = "nodelifecycle" not in running
    greet = Client(api, system_user("apiserver")) if alone else None
    agents = PodAgents(api, fleet, given.events)
    api.simulated = SimulatedContainers(fleet, agents)
    scheduler = Client(api, scheduler_user(given.dialect, privileged=given.privileged))
    recorder = Recorder(given.events, scheduler, SCHEDULER)
    return (
        NodeKeeper(fleet, given.dialect, options.advertised_version, greet),
        agents,
        Scheduler(api, fleet, scheduler, recorder),
    )
