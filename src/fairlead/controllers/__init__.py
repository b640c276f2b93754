"""What keeps a cluster as it should be. May use `api` and what is below.

- `framework`, `queue`, `pace`, `replay`: from changes to keys to work; `catalogue`: all controllers
- `workloads/`, `nodes/`, `volumes/`, `service_endpoints/`, `certificates/`, `disruption/`,
  `garbage/`, `flow_control/`, `custom_resources/`, `servers/`: the larger families
- the other modules are one controller each
- `aggregation/`: extension servers behind this one
- `simulation/`: nodes without machines, and a scheduler for them
"""
