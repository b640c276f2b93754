"""Clients of other libraries, set up for a server; each is imported only when it is wanted."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

_VARIABLE = "KUBECONFIG"
_READ_AT_IMPORT = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
_DEFAULT_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"


class Libraries:
    """One call a library, as the user of a client configuration file."""

    def __init__(self, kubeconfig: Path) -> None:
        self._path = str(kubeconfig)

    def kubernetes(self) -> Any:
        """An `ApiClient` of `kubernetes`: give it to `CoreV1Api(...)` and the like."""
        from kubernetes import config

        return config.new_client_from_config(config_file=self._path)  # type: ignore[no-untyped-call]

    async def kubernetes_asyncio(self) -> Any:
        """The same of `kubernetes_asyncio`."""
        from kubernetes_asyncio import config

        return await config.new_client_from_config(config_file=self._path)

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

        with _any_version():
            return kr8s.api(kubeconfig=self._path, **settings)

    async def kr8s_async(self, **settings: Any) -> Any:
        """The API object of `kr8s.asyncio`."""
        import kr8s.asyncio

        with _any_version():
            return await kr8s.asyncio.api(kubeconfig=self._path, **settings)

    def pykube(self) -> Any:
        """A `pykube.HTTPClient`."""
        import pykube  # type: ignore[import-untyped]

        return pykube.HTTPClient(pykube.KubeConfig.from_file(self._path))

    @contextmanager
    def kopf(self, *arguments: str, **settings: Any) -> Iterator[Any]:
        """An operator that runs within the context, by `kopf.testing.KopfRunner`; the arguments
        are those of `kopf`, such as `"run", "-A", "operator.py"`."""
        with self.environment():
            from kopf.testing import KopfRunner

            with KopfRunner(list(arguments), **settings) as runner:
                yield runner

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Have everything that reads the environment find the server, also what has read it
        already."""
        with ExitStack() as changes:
            changes.enter_context(_replaced(os.environ, _VARIABLE, self._path))
            for name in _READ_AT_IMPORT:
                if name in sys.modules:
                    known = vars(sys.modules[name])
                    changes.enter_context(_replaced(known, _DEFAULT_LOCATION, self._path))
            yield


@contextmanager
def _replaced(values: MutableMapping[str, Any], name: str, value: str) -> Iterator[None]:
    """A value for as long as the context lasts."""
    before = values.get(name)
    values[name] = value
    try:
        yield
    finally:
        if before is None:
            del values[name]
        else:
            values[name] = before


@contextmanager
def _any_version() -> Iterator[None]:
    """Without a warning that the server is of an older version than the library is tested with."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Kubernetes version .* is not supported")
        yield
