"""Verbs of resources and subresources that are not plain storage: one module a matter.

A module has `HANDLERS`, from (resource key, verb) to the function that answers.
"""

from __future__ import annotations

from fairlead.endpoints.answers import Verb
from fairlead.endpoints.subresources import (
    binding,
    component_statuses,
    connect,
    eviction,
    reviews,
)

HANDLERS: dict[tuple[str, str], Verb] = {
    **binding.HANDLERS,
    **component_statuses.HANDLERS,
    **connect.HANDLERS,
    **eviction.HANDLERS,
    **reviews.HANDLERS,
}
