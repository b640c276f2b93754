"""A real server for tests, in a process of its own and ready in half a second.

    with Cluster() as cluster:
        cluster.apply("manifests/")
        cluster.wait_idle()

In pytest the fixtures `cluster`, `namespace`, `kubeconfig`, `restored` and `cluster_factory` are
there once `fairlead[pytest]` is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairlead.testing.behaviours import Behaviour
    from fairlead.testing.cluster import Cluster
    from fairlead.testing.powers import Fault, Snapshot
    from fairlead.testing.process import ServerFailed
    from fairlead.testing.users import User
    from fairlead.testing.webhooks import Admission, Denied

__all__ = [
    "Admission",
    "Behaviour",
    "Cluster",
    "Denied",
    "Fault",
    "ServerFailed",
    "Snapshot",
    "User",
]

# Imported lazily: every run of pytest loads the plugin.
_MODULES = {
    "Admission": "webhooks",
    "Behaviour": "behaviours",
    "Cluster": "cluster",
    "Denied": "webhooks",
    "Fault": "powers",
    "ServerFailed": "process",
    "Snapshot": "powers",
    "User": "users",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
