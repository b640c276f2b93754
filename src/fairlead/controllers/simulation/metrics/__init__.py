"""`metrics.k8s.io` of simulated nodes: `group` adds it to the server, `usage` decides what a
container uses, `objects` makes the NodeMetrics and PodMetrics that `api.subresources` serves."""
