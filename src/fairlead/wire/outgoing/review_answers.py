"""Reading the review with which a webhook answers one."""

from __future__ import annotations

from typing import Any

import orjson

from fairlead.base.budget import OverSize
from fairlead.codec.bodies import BodyError, not_an_object, parse_json, parse_yaml
from fairlead.codec.limits import MOST_VALUES, check_values
from fairlead.wire.outgoing.client import CallError

_VERSIONS = ("v1", "v1beta1")


def read_review(
    content: bytes, group: str, kind: str, version: str, most_values: int = MOST_VALUES
) -> dict[str, Any]:
    """The review in an answer to one of a version; raises CallError, also for one with more lists
    and objects than it may have. What does not say what it is is taken for one."""
    try:
        check_values(content, most_values)
        value = orjson.loads(content)
    except OverSize as error:
        raise CallError(f"the answer has {error}") from None
    except orjson.JSONDecodeError:
        value = _read_slowly(content)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _unknown(not_an_object(value))
    if value.get("kind") == kind:
        for other in _VERSIONS:
            if other != version and value.get("apiVersion") == f"{group}/{other}":
                raise CallError(
                    f"converting ({other}.{kind}) to ({version}.{kind}): unknown conversion"
                )
    return value


def _read_slowly(content: bytes) -> Any:
    """What is not JSON may be YAML; says what is wrong with anything else."""
    if content.lstrip().startswith(b"{"):
        try:
            return parse_json(content)
        except BodyError as error:
            raise _unknown(str(error)) from None
    try:
        return parse_yaml(content)[0]
    except BodyError as error:
        raise CallError(str(error)) from None


def _unknown(why: str) -> CallError:
    return CallError(f"couldn't get version/kind; json parse error: {why}")
