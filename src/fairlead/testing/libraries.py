"""Clients of other libraries, configured for a server; each library is imported on first use."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Self

_VARIABLE = "KUBECONFIG"
_READ_AT_IMPORT = ("kubernetes.config.kube_config", "kubernetes_asyncio.config.kube_config")
_DEFAULT_LOCATION = "KUBE_CONFIG_DEFAULT_LOCATION"


class Libraries:
    """One method per library, as the user of a kubeconfig file."""

    def __init__(self, kubeconfig: Path) -> None:
        self._path = str(kubeconfig)

    def kubernetes(self) -> Any:
        """Return an `ApiClient` of `kubernetes`: pass it to `CoreV1Api(...)` and the like."""
        from kubernetes import config

        return config.new_client_from_config(config_file=self._path)

    async def kubernetes_asyncio(self) -> Any:
        """Return an `ApiClient` of `kubernetes_asyncio`."""
        from kubernetes_asyncio import config

        return await config.new_client_from_config(config_file=self._path)

    def lightkube(self, **settings: Any) -> Any:
        """Return a `lightkube.Client`."""
        import lightkube

        return lightkube.Client(config=lightkube.KubeConfig.from_file(self._path), **settings)

    def lightkube_async(self, **settings: Any) -> Any:
        """Return a `lightkube.AsyncClient`."""
        import lightkube

        config = lightkube.KubeConfig.from_file(self._path)
        return lightkube.AsyncClient(config=config, **settings)

    def kr8s(self, **settings: Any) -> Any:
        """Return the API object of `kr8s`, synchronous."""
        import kr8s

        with _any_version():
            return kr8s.api(kubeconfig=self._path, **settings)

    async def kr8s_async(self, **settings: Any) -> Any:
        """Return the API object of `kr8s.asyncio`."""
        import kr8s.asyncio

        with _any_version():
            return await kr8s.asyncio.api(kubeconfig=self._path, **settings)

    def pykube(self) -> Any:
        """Return a `pykube.HTTPClient`."""
        import pykube

        return pykube.HTTPClient(pykube.KubeConfig.from_file(self._path))

    @contextmanager
    def kopf(self, *arguments: str, **settings: Any) -> Iterator[KopfOperator]:
        """Run an operator within the context. The arguments are those of `kopf`, such as `"run",
        "-A", "operator.py"`, the settings those of `kopf.testing.KopfRunner`."""
        with self.environment(), KopfOperator(arguments, **settings) as running:
            yield running

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Point KUBECONFIG to the server within the context, also for modules that have read it at
        import."""
        with ExitStack() as changes:
            changes.enter_context(_replaced(os.environ, _VARIABLE, self._path))
            for name in _READ_AT_IMPORT:
                if name in sys.modules:
                    names = vars(sys.modules[name])
                    changes.enter_context(_replaced(names, _DEFAULT_LOCATION, self._path))
            yield


class KopfOperator:
    """Runs a kopf operator in a thread of this process. `kopf.testing.KopfRunner` does the same but
    captures the standard streams of the whole process, so the output of tests would be lost."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        timeout: float | None = None,
        reraise: bool = True,
        **controls: Any,
    ) -> None:
        """`timeout` limits the shutdown; `controls` are `registry` and `settings` of the
        operator."""
        self._arguments = list(arguments)
        self._timeout = timeout
        self._reraise = reraise
        self._stop = threading.Event()
        self._controls = {"stop_flag": self._stop, **controls}
        self._thread = threading.Thread(target=self._run, name="kopf")
        self._output = StringIO()
        self.exit_code = 0
        self.exception: BaseException | None = None

    @property
    def output(self) -> str:
        """The log of kopf and of the operator's handlers."""
        return self._output.getvalue()

    def _run(self) -> None:
        from kopf import cli

        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            controls = cli.CLIControls(loop=loop, **self._controls)
            cli.main.main(self._arguments, "kopf", standalone_mode=False, obj=controls)
        except BaseException as error:
            self.exception = error
            self.exit_code = int(getattr(error, "exit_code", 1))
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def __enter__(self) -> Self:
        self._handler = logging.StreamHandler(self._output)
        logging.getLogger("kopf").addHandler(self._handler)
        self._thread.start()
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        self._stop.set()
        self._thread.join(self._timeout)
        logging.getLogger("kopf").removeHandler(self._handler)
        if self._thread.is_alive():
            raise RuntimeError(f"the operator has not ended in {self._timeout} seconds")
        if self.exception is not None and self._reraise:
            raise self.exception from raised


@contextmanager
def _replaced(values: MutableMapping[str, Any], name: str, value: str) -> Iterator[None]:
    """Set a value for the duration of the context."""
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
    """Suppress the warning that the server's version is older than those the library supports."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Kubernetes version .* is not supported")
        yield
