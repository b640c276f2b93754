"""Signs approved requests of the built-in signers, or marks them as failed."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Iterable, Mapping
from datetime import timedelta

from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.base.logs import Logger
from fairlead.controllers.certificates.authority import Expired, SigningAuthority, SigningFileError
from fairlead.controllers.certificates.request_content import (
    REQUESTS,
    RequestContent,
    Unreadable,
    read_content,
)
from fairlead.controllers.certificates.rules import rules_of
from fairlead.controllers.certificates.states import is_to_be_signed, with_condition, write
from fairlead.controllers.framework import Keys
from fairlead.operations.api import Object
from fairlead.operations.client import Client
from fairlead.resources.certificates.conditions import FAILED
from fairlead.storage.version import Change

logger = Logger("fairlead.controllers")

_TRY_AGAIN = 60.0  # seconds; an operator must replace the files
_MIN_LIFETIME = timedelta(minutes=10)
_TOO_LARGE = 413


class CertificateSigner:
    """Keys are names of requests. `authorities` maps names of signers to their CAs; `lifetime` is
    the default and maximum lifetime of certificates."""

    name = "csrsigning"
    workers = 2

    def __init__(
        self,
        client: Client,
        dialect: Dialect,
        authorities: Mapping[str, SigningAuthority],
        lifetime: timedelta,
    ) -> None:
        self._client = client
        self._rules = rules_of(dialect)
        self._authorities = authorities
        self._lifetime = lifetime

    def follows(self) -> Mapping[str, Keys]:
        return {REQUESTS: self._ours}

    def _ours(self, change: Change) -> Iterable[str]:
        if change.after is None:
            return ()
        return (change.name,) if change.after.fields["spec.signerName"] in self._rules else ()

    async def sync(self, key: str) -> float | None:
        request = self._client.find(REQUESTS, "", key)
        if request is None or not is_to_be_signed(request):
            return None
        try:
            content = await asyncio.to_thread(read_content, request)
            problem = self._rules[request["spec"]["signerName"]](content, request["spec"]["usages"])
        except Unreadable as error:
            problem = str(error)
        try:
            if problem:
                logger.info(
                    "a signing request is refused", controller=self.name, name=key, reason=problem
                )
                await self._refuse(request, problem)
            else:
                await self._sign(request, content)
        except StatusError as error:
            if error.code == _TOO_LARGE:  # permanent: a retry has the same size
                await self._refuse(request, "the certificate is too large to be stored")
            elif error.code != 404:
                raise
        except (Expired, SigningFileError) as error:
            logger.warning(
                "a signing request is not signed", controller=self.name, name=key, err=error
            )
            return _TRY_AGAIN
        return None

    async def _refuse(self, request: Object, problem: str) -> None:
        def failed(newest: Object) -> Object:
            return with_condition(newest, FAILED, "SignerValidationFailure", problem)

        await write(self._client, request, "status", is_to_be_signed, failed)

    async def _sign(self, request: Object, content: RequestContent) -> None:
        spec = request["spec"]
        authority = self._authorities[spec["signerName"]]
        lifetime = self._granted(spec.get("expirationSeconds"))
        pem = await asyncio.to_thread(authority.sign, content, spec["usages"], lifetime)
        certificate = b64encode(pem).decode()

        def signed(newest: Object) -> Object:
            return {**newest, "status": {**newest["status"], "certificate": certificate}}

        await write(self._client, request, "status", is_to_be_signed, signed)

    def _granted(self, seconds: int | None) -> timedelta:
        if seconds is None:
            return self._lifetime
        return min(self._lifetime, max(_MIN_LIFETIME, timedelta(seconds=seconds)))
