"""Kinds of the metrics group, which a server with simulated nodes serves. They are not stored."""

NODE_METRICS, POD_METRICS = "metrics/v1beta1/nodes", "metrics/v1beta1/pods"

BEHAVIOURS: dict[str, str] = {}
