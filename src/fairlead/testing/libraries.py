"""Clients of other libraries, set up for a server; each is imported only when it is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_VARIABLE = "KUBECONFIG"
_EARLY_READERS = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
_EARLY_READ = "KUBE_CONFIG_DEFAULT_LOCATION"


class Libraries:
    """One call a library, as the user of a client configuration file."""

    def __init__(self, kubeconfig: Path) -> None:
        self._path = str(kubeconfig)

    def kubernetes(self) -> Any:
        """An `ApiClient` of `kubernetes`: give it to `CoreV1Api(...)` and the like."""
        from kubernetes import config

        return config.new_client_from_config(config_file=self._path)  # type: ignore[no-untyped-call]

    def kubernetes_asyncio(self) -> Awaitable[Any]:
        """The same of `kubernetes_asyncio`, to be awaited."""
        from kubernetes_asyncio import config

        made: Awaitable[Any] = config.new_client_from_config(config_file=self._path)
        return made

    def lightkube(self, **settings: Any) -> Any:
        """A `lightkube.Client`."""
        import lightkube

        return lightkube.Client(config=lightkube.KubeConfig.from_file(self._path), **settings)

    def lightkube_async(self, **settings: Any) -> Any:
        """A `lightkube.AsyncClient`."""
        import lightkube

        found = lightkube.KubeConfig.from_file(self._path)
        return lightkube.AsyncClient(config=found, **settings)

    def kr8s(self, **settings: Any) -> Any:
        """The API object of `kr8s`, synchronous."""
        import kr8s

        return kr8s.api(kubeconfig=self._path, **settings)

    def pykube(self) -> Any:
        """A `pykube.HTTPClient`."""
        import pykube  # type: ignore[import-untyped]

        return pykube.HTTPClient(pykube.KubeConfig.from_file(self._path))

    @contextmanager
    def kopf(self, *arguments: str, **settings: Any) -> Iterator[Any]:
        """An operator that runs within the context, by `kopf.testing.KopfRunner`; the arguments
        are those of `kopf`, such as `"run", "-A", "operator.py"`."""
        from kopf.testing import KopfRunner

        with self.environment(), KopfRunner(list(arguments), **settings) as runner:
            yield runner

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Have everything that reads the environment find the server, also libraries that read
        it when they were imported."""
        from unittest.mock import patch

        with ExitStack() as changed:
            changed.enter_context(patch.dict(os.environ, {_VARIABLE: self._path}))
            for module in map(sys.modules.get, _EARLY_READERS):
                if module is not None:
                    changed.enter_context(patch.object(module, _EARLY_READ, self._path))
            yield
