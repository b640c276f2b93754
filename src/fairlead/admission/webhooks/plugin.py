"""The shared base of the two webhook plugins."""

from __future__ import annotations

from typing import NamedTuple

from fairlead.admission.plugin import PluginBase
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.call import Asking
from fairlead.admission.webhooks.configurations import Configurations
from fairlead.admission.webhooks.reviews import Reviews
from fairlead.admission.webhooks.shapes import Shapes


class Means(NamedTuple):
    """The dependencies of a webhook plugin."""

    configurations: Configurations
    reviews: Reviews
    shapes: Shapes
    find: FindNamespace


class WebhookPlugin(PluginBase):
    """Handles the resources that its configurations match; `kind` is the type label in metrics."""

    kind = ""

    def __init__(self, means: Means) -> None:
        self.concerns = self.depends_on_other_state = means.configurations
        self._configurations = means.configurations
        self._shapes = means.shapes
        self._find = means.find
        self._asking = Asking(self.kind, means.reviews)
