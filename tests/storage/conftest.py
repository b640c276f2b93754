"""An etcd for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.etcd import Etcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    member = Etcd(tmp_path_factory.mktemp("etcd")).start()
    yield member
    member.close()
