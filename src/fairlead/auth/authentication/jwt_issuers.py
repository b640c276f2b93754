"""The issuers of `--authentication-config`: they verify tokens, and are replaced when the file
changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fairlead.auth.authentication import oidc, oidc_provider
from fairlead.auth.authentication.bearer import Audiences, Grant
from fairlead.auth.authentication.configuration import (
    AuthenticationFile,
    AuthenticationSettings,
    IssuerSettings,
)
from fairlead.auth.configuration import NotReady
from fairlead.base.files import Reloadable
from fairlead.codec.configuration_files import Section

_READY_WITHIN = 60.0  # seconds for all issuers of a new configuration
_CLOSED_AFTER = 60.0  # seconds for requests that began before a reload


class JwtIssuers:
    """The tokens of all configured issuers. A new configuration is used when the keys of all its
    issuers are known; until then the old one stays."""

    def __init__(
        self, file: AuthenticationFile, settings: AuthenticationSettings, own_audiences: Audiences
    ) -> None:
        self._file = file
        self._anonymous = settings[1:]
        self._own_audiences = own_audiences
        self._methods = self._built(settings.issuers)
        self._tasks: set[asyncio.Task[None]] = set()
        self.forget: Callable[[], None] = lambda: None  # drops cached tokens

    def _built(self, issuers: Sequence[IssuerSettings]) -> tuple[oidc.OidcTokens, ...]:
        return tuple(
            oidc.OidcTokens(
                oidc_provider.Provider(
                    issuer.url,
                    None,
                    (),
                    oidc_provider.documents_by(issuer.authority),
                    issuer.discovery_url,
                ),
                issuer.mapper,
                self._own_audiences,
            )
            for issuer in issuers
        )

    @property
    def reloadable(self) -> Reloadable:
        return self._file.file.reloadable

    async def check(self, token: str, audiences: Audiences) -> Grant | None:
        for method in self._methods:
            grant = await method.check(token, audiences)
            if grant is not None:
                return grant
        return None

    async def run(self) -> None:
        """Fetch the keys of the issuers, and follow the file, until cancelled."""
        for method in self._methods:
            self._start(method.provider.keep_trying())
        await self._file.file.reload_forever(self._reload)

    async def _reload(self, section: Section) -> None:
        settings = await asyncio.to_thread(self._file.settings, section)
        if settings[1:] != self._anonymous:
            raise section.error("anonymous", "Forbidden: changed from initial configuration file")
        new = await asyncio.to_thread(self._built, settings.issuers)
        waiting = [asyncio.ensure_future(method.provider.keep_trying()) for method in new]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=_READY_WITHIN)
        finally:
            for task in waiting:
                task.cancel()
        late = [method.provider.issuer for method in new if not method.provider.ready]
        if late:
            await _close(new)
            raise NotReady(f"{section.error('jwt', 'keys cannot be fetched')}: {', '.join(late)}")
        old, self._methods = self._methods, new
        self.forget()
        self._start(_close(old, _CLOSED_AFTER))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await _close(self._methods)


async def _close(methods: Sequence[oidc.OidcTokens], after: float = 0.0) -> None:
    try:
        if after:
            await asyncio.sleep(after)
    finally:
        for method in methods:
            await method.close()
