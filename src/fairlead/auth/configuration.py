"""The configuration files of authentication and authorization: reading, reloading, and their
expressions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeVar

from fairlead.base import clock, files
from fairlead.base.errors import TooManyCauses
from fairlead.base.files import NotReloaded, Reloadable
from fairlead.base.logs import Logger
from fairlead.base.metrics import REGISTRY, Counter, Gauge
from fairlead.base.release import Release
from fairlead.codec.cel.compile import Program, compile_expression
from fairlead.codec.cel.environment import environment
from fairlead.codec.cel.errors import CompileError, ConstantProblem, CostExceeded, EvaluationError
from fairlead.codec.cel.syntax import Node
from fairlead.codec.cel.types import BOOL, Type
from fairlead.codec.configuration_files import (
    ConfigurationError,
    ConfigurationReader,
    Form,
    Section,
    parse_section,
    versions,
)
from fairlead.codec.types.builtin import BuiltinTypes
from fairlead.resources.causes import Causes, new_causes
from fairlead.resources.gates import Gates

logger = Logger("fairlead")

_GROUP = "apiserver.config.@"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
_MAX_BYTES = 3 * 1024 * 1024
_CHECK_EVERY = 0.25  # seconds


T = TypeVar("T")


class NotReady(ConfigurationError):
    """A valid configuration that cannot be used yet."""


class ConfigurationFile:
    """A file of one kind. `flag` is the flag that names it."""

    def __init__(self, path: Path, flag: str, kind: str, types: BuiltinTypes) -> None:
        self.path = path
        self._flag = flag
        self._form = Form(kind, versions(kind, _GROUP, *_VERSIONS))
        self._types = types
        self.content = b""  # last read
        self._apply: Callable[[Section], Awaitable[None]] | None = None  # while it is followed
        self._refused: ConfigurationError | None = None  # why `content` is not in use
        self._reading = asyncio.Lock()

    @property
    def reloadable(self) -> Reloadable:
        return Reloadable(f"--{self._flag}", self.read_again)

    def read(self) -> Section:
        """Read and decode the file; raises ConfigurationError."""
        self.content = self._bytes()
        return self.decode(self.content)

    def decode(self, content: bytes) -> Section:
        reader = ConfigurationReader(self._types, __file__)
        return reader.section(self._form, parse_section(content, self.path, self._flag))

    def check(self, section: Section, rules: Callable[[Causes], T], gates: Gates) -> T:
        """The result of rules that add causes; raises ConfigurationError if there are any."""
        causes = new_causes(gates)
        with suppress(TooManyCauses):
            result = rules(causes)
        if causes:
            raise section.error("", ", ".join(f"{c.field}: {c.message}" for c in causes))
        return result

    def _bytes(self, *, is_reload: bool = False) -> bytes:
        """The content. A reload reads only regular files: reading a pipe might wait for ever."""
        section = Section({}, self.path, self._flag)
        try:
            if is_reload and not S_ISREG(self.path.stat().st_mode):
                raise section.error("", "is not a regular file")
            with self.path.open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise section.error("", f"cannot be read: {error.strerror}") from None
        if len(content) > _MAX_BYTES:
            raise section.error("", f"has more than {_MAX_BYTES} bytes")
        return content

    async def reload_forever(self, apply: Callable[[Section], Awaitable[None]]) -> None:
        """Call `apply` with the new configuration whenever the file changes. A changed file is read
        as soon as two successive checks find the same state, so that no half-written file is read.
        If it is invalid, or `apply` raises ConfigurationError, the configuration stays as it is;
        `apply` is called again after NotReady."""
        self._apply = apply
        reloads = _Reloads(self._flag)
        stamp, is_pending = None, False  # the content may have changed since it was read at start
        while True:
            before, stamp = stamp, files.stamp(self.path)
            if stamp != before:
                is_pending = True
            elif is_pending:
                is_pending = False
                try:
                    is_new = await self._reload(apply)
                except ConfigurationError as error:
                    reloads.failed(error)
                    is_pending = isinstance(error, NotReady)
                else:
                    reloads.succeeded(self.path, is_new=is_new)
            await asyncio.sleep(_CHECK_EVERY)

    async def read_again(self) -> bool:
        """Read the file now; returns whether new content is in use. Does nothing unless
        `reload_forever` runs. Raises NotReloaded."""
        if self._apply is None:
            return False
        try:
            is_new = await self._reload(self._apply)
        except ConfigurationError as error:
            raise NotReloaded(str(error)) from None
        if self._refused is not None:
            raise NotReloaded(str(self._refused))
        return is_new

    async def _reload(self, apply: Callable[[Section], Awaitable[None]]) -> bool:
        """Apply the content of the file if it is new; returns whether it was. Content that `apply`
        refused is not applied again."""
        async with self._reading:
            content = await asyncio.to_thread(self._bytes, is_reload=True)
            if content == self.content:
                return False
            old, self.content = self.content, content
            try:
                await apply(await asyncio.to_thread(self.decode, content))
            except NotReady:
                self.content = old
                raise
            except ConfigurationError as error:
                self._refused = error
                raise
            self._refused = None
            return True


def _reload_metrics(kind: str) -> tuple[Counter, Gauge]:
    prefix = f"apiserver_{kind}_config_controller_automatic_reload"
    file = f"the file of --{kind}-config"
    count = REGISTRY.counter(f"{prefix}s", f"Reloads of {file}, by outcome.", ("status",))
    text = f"Time of the last reload of {file}, by outcome."
    return count, REGISTRY.gauge(f"{prefix}_last_timestamp_seconds", text, ("status",))


_RELOADS = {f"{kind}-config": _reload_metrics(kind) for kind in ("authentication", "authorization")}


class _Reloads:
    """Reports reloads of one file to the log and the metrics."""

    def __init__(self, flag: str) -> None:
        self._count, self._last = _RELOADS[flag]
        self._last_error = ""

    def succeeded(self, path: Path, *, is_new: bool) -> None:
        self._last_error = ""
        if is_new:
            logger.info("a configuration was reloaded", file=path)
            self._note("success")

    def failed(self, error: ConfigurationError) -> None:
        self._note("failure")
        if str(error) != self._last_error:  # keys that cannot be fetched are tried again
            self._last_error = str(error)
            logger.error("a configuration stays as it was", err=error)

    def _note(self, status: str) -> None:
        self._count.add(of=(status,))
        self._last.set(clock.time(), (status,))


# Expressions

_MAX_COST = 1_000_000
_MAX_COST_ON_LOOP = 10_000


class ExpressionError(Exception):
    """An expression that cannot be compiled or evaluated."""


class Expression:
    """A compiled expression of a configuration; raises ExpressionError."""

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Type],
        release: Release,
        *,
        is_rule: bool = False,
        adapt: Callable[[Node], None] | None = None,
    ) -> None:
        """A rule must evaluate to a boolean."""
        self.text = text
        try:
            functions = environment(release)
            self._program: Program = compile_expression(text, variables, None, functions, adapt)
        except (CompileError, ConstantProblem) as error:
            raise ExpressionError(str(error)) from None
        if is_rule and self._program.result_type != BOOL:
            shown = self._program.result_type
            raise ExpressionError(f"must evaluate to bool but got {shown}")

    async def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The result. A costly evaluation runs in a thread."""
        try:
            return self._program.evaluate(values, _MAX_COST_ON_LOOP)[0]
        except EvaluationError as error:
            raise ExpressionError(str(error)) from None
        except CostExceeded:
            pass
        try:
            result, _ = await asyncio.to_thread(self._program.evaluate, values, _MAX_COST)
        except (EvaluationError, CostExceeded) as error:
            raise ExpressionError(str(error)) from None
        return result
