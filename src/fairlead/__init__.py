"""Fairlead: a Kubernetes-style cluster API server in one process."""

from fairlead.base import lazy

__version__ = "0.1.0"

lazy.install()
