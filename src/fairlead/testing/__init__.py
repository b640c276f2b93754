"""A real server for tests, in a process of its own and ready in half a second.

    with Cluster() as cluster:
        cluster.apply("manifests/")
        cluster.wait_idle()

In pytest the fixtures `cluster`, `namespace`, `kubeconfig` and `cluster_factory` are there once
`fairlead[pytest]` is installed.
"""

from __future__ import annotations

from fairlead.testing.cluster import Cluster
from fairlead.testing.powers import Fault, Snapshot
from fairlead.testing.process import ServerFailed
from fairlead.testing.users import User

__all__ = ["Cluster", "Fault", "ServerFailed", "Snapshot", "User"]
