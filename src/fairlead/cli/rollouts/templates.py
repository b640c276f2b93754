"""Formats the pod template of a revision, for `rollout history --revision` and dry runs of
`undo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.base.dialect import Dialect


def template_text(template: Mapping[str, Any], dialect: Dialect) -> str:
    """The template as `describe` draws it, with tabs and without the final line break."""
    # Imported lazily: most rollout commands do not need it.
    from fairlead.cli.describe.layout import Subject
    from fairlead.cli.describe.page import Page
    from fairlead.cli.describe.parts.templates import draw_template

    page = Page()
    draw_template(page, Subject({"template": template}, dialect), "template")
    return page.unaligned()
