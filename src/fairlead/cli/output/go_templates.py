"""Go templates of `-o go-template`."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable
from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.errors import CommandFailed
from fairlead.codec.go_template.functions import GO_FUNCTIONS, LAZY
from fairlead.codec.go_template.renderer import Limits, render
from fairlead.codec.go_template.syntax import parse_template
from fairlead.codec.go_template.values import TemplateError

_LIMITS = Limits(steps=50_000_000, size=256 * 1024 * 1024)


def _exists(value: Any, *keys: Any) -> bool:
    """Whether there is something at these keys and indexes."""
    for key in keys:
        if isinstance(value, dict):
            if key not in value:
                return False
            value = value[key]
        elif isinstance(value, list):
            if not isinstance(key, int) or not 0 <= key < len(value):
                return False
            value = value[key]
        else:
            return False
    return True


def _decoded(text: str) -> str:
    try:
        return b64decode(text, validate=True).decode("utf-8", "replace")
    except binascii.Error:
        raise TemplateError("it is not base64") from None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **GO_FUNCTIONS,
    "exists": _exists,
    "base64decode": _decoded,
}


class Template:
    """A template that has been read; raises CommandFailed if it is wrong. Missing fields are an
    error if it is `strict`."""

    def __init__(self, text: str, *, strict: bool = False) -> None:
        self._strict = strict
        try:
            self._body = parse_template(text, {*_FUNCTIONS, *LAZY})
        except TemplateError as error:
            raise CommandFailed(f"error: the template is wrong: {printable(str(error))}") from None

    def text(self, value: Any) -> str:
        """The text for an object or a list; raises CommandFailed."""
        try:
            return render(self._body, value, _FUNCTIONS, _LIMITS, strict=self._strict)
        except TemplateError as error:
            raise CommandFailed(
                f"error: the template does not fit the object: {printable(str(error))}"
            ) from None
