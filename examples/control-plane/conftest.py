"""The platform on a real server: its definitions and roles, and the provisioner where a test wants
it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from platform_support import HERE, Platform, running

from fairlead.testing import Cluster, User


@pytest.fixture(scope="session", autouse=True)
def account(cluster: Cluster) -> User:
    """The service account of the provisioner."""
    cluster.definitions(HERE / "definitions")
    cluster.apply(HERE / "roles.yaml")
    return cluster.service_account("provisioner", "platform")


@pytest.fixture(scope="module")
def provisioner(account: User) -> Iterator[None]:
    with running(account, "first"):
        yield


@pytest.fixture
def platform(cluster: Cluster, namespace: str) -> Iterator[Platform]:
    platform = Platform(cluster, namespace)
    platform.plan()
    yield platform
    cluster.admin.resource("plans").delete(namespace)
