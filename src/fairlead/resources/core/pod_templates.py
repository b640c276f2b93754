"""The behaviour of PodTemplate: a template without a controller."""

from __future__ import annotations

from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.spec import (
    check_pod_template,
    drop_disabled_pod_fields,
    fill_template_defaults,
    template_warnings,
)


class PodTemplateBehaviour(Behaviour):
    def fill_defaults(self, value: Object, context: Context) -> None:
        fill_template_defaults(value["template"], context)

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        drop_disabled_pod_fields(value["template"]["spec"], None, context)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        drop_disabled_pod_fields(value["template"]["spec"], old["template"]["spec"], context)
        super().prepare_update(value, old, context)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        check_pod_template(value["template"], "template", causes, context)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if old is None or value["template"] != old["template"]:
            template_warnings(value["template"], "template", context)
