"""What the two plugins that ask webhooks have in common."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.admission.plugin import PluginBase
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.call import Asking
from fairlead.admission.webhooks.configurations import Configurations
from fairlead.admission.webhooks.reviews import Reviews
from fairlead.admission.webhooks.shapes import Shapes


class Means(NamedTuple):
    """What it takes to ask: who is asked about what, how, and in which versions of an object."""

    configurations: Configurations
    reviews: Reviews
    shapes: Shapes
    find: FindNamespace


class WebhookPlugin(PluginBase):
    """Concerned with what its configurations name; `kind` is what metrics call its webhooks."""

    kind = ""

    def __init__(self, means: Means) -> None:
        self.concerns = self.judged_by_more = means.configurations
        self._configurations = means.configurations
        self._shapes = means.shapes
        self._find = means.find
        self._asking = Asking(self.kind, means.reviews)
