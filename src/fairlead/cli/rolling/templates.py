"""The pods of a revision as text: for `rollout history --revision` and dry runs of `undo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.base.dialect import Dialect


def template_text(template: Mapping[str, Any], dialect: Dialect) -> str:
    """As a description has it, but with its tabs, and without the last line's end."""
    # Imported here: a rollout is followed without it.
    from fairlead.cli.describing.layout import Subject
    from fairlead.cli.describing.page import Page
    from fairlead.cli.describing.parts.templates import draw_template

    page = Page()
    draw_template(page, Subject({"template": template}, dialect), "template")
    return page.unaligned()
