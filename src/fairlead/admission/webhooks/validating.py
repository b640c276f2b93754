"""ValidatingAdmissionWebhook: calls webhooks that may reject a write, all concurrently."""

from __future__ import annotations

import asyncio

from fairlead.admission.plugin import Attributes
from fairlead.admission.webhooks.call import VALIDATING
from fairlead.admission.webhooks.match import selects
from fairlead.admission.webhooks.plugin import Means, WebhookPlugin
from fairlead.admission.webhooks.reviews import Answer
from fairlead.admission.webhooks.shapes import Documents
from fairlead.base.dialect import Dialect

_FAILED_OPEN = "failed-open.validating.webhook.admission.@/"


class ValidatingAdmissionWebhook(WebhookPlugin):
    name = "ValidatingAdmissionWebhook"
    kind = VALIDATING

    def __init__(self, dialect: Dialect, means: Means) -> None:
        super().__init__(means)
        self._failed_open = dialect.group_name(_FAILED_OPEN)

    async def validate(self, attributes: Attributes) -> None:
        """Wait for all webhooks; of several errors, raise that of the first webhook in order."""
        found = self._configurations.asked(attributes)
        chosen = [match for match in found if selects(match.hook, attributes, self._find)]
        if not chosen:
            return
        documents = Documents(self._shapes, attributes, is_final=True)
        calls = [
            self._asking.ask(
                match, attributes, documents, _agree, f"{self._failed_open}round_0_index_{index}"
            )
            for index, match in enumerate(chosen)
        ]
        if len(calls) == 1:
            await calls[0]
            return
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome


async def _agree(answer: Answer) -> bool:
    return False
