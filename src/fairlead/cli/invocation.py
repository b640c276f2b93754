"""The state of one run of a command."""

from __future__ import annotations

import argparse

from fairlead.base.records import dataclass, field
from fairlead.base.terminal import printable
from fairlead.cli.connection_flags import access_of
from fairlead.cli.errors import UsageError
from fairlead.cli.screen import Screen
from fairlead.client import Client


@dataclass(slots=True)
class Invocation:
    """The flags of a command, its output, and its client, which is created on first use."""

    options: argparse.Namespace
    screen: Screen = field(default_factory=Screen)
    _client: Client | None = None

    @property
    def client(self) -> Client:
        """Raises AccessError."""
        if self._client is None:
            self._client = Client(access_of(self.options))
            self._client.session.on_warning = self._warn
        return self._client

    async def check_uid(self) -> None:
        """Reject --as-uid in dialects whose command line has no such flag; raises UsageError."""
        if not self.options.as_uid:
            return
        dialect = await self.client.discovery.dialect()
        if dialect.command_line_without_uid:
            raise UsageError(
                f"unknown flag: --as-uid (servers of the dialect {dialect.name} take a user and"
                " groups from the command line, but no uid)"
            )

    def _warn(self, text: str) -> None:
        self.screen.warn(f"Warning: {printable(text)}")

    @property
    def namespace(self) -> str:
        """The namespace of objects that name none."""
        return self.options.namespace or self.client.namespace

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
