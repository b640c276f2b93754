"""Fairlead: a Kubernetes-style cluster API server in one process."""

__version__ = "0.1.0"
