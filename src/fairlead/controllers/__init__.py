"""Controllers: loops that bring the cluster to its desired state. May use `api` and the packages
below it.

- `framework`, `queue`, `subscription`: from watch events to keys to workers
- `catalogue`: all controllers by name; `dependencies`: the dependencies they are built from
- `workloads/`, `nodes/`, `volumes/`, `service_endpoints/`, `certificates/`, `disruption/`,
  `garbage/`, `flow_control/`, `custom_resources/`, `servers/`: the larger families
- each other module contains one controller or the helpers of a few
- `aggregation/`: extension API servers behind this one
- `simulation/`: simulated nodes and a scheduler for them
"""
