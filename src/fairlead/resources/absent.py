"""What is said about an object that is not stored."""

from __future__ import annotations

from fairlead.base.errors import ResourceRef, StatusError, bad_request, not_found
from fairlead.base.quotes import quote
from fairlead.codec.types.names import path_segment


def absent(ref: ResourceRef) -> StatusError:
    """404, or 400 for a name that nothing can have."""
    if not ref.name:
        return bad_request("Name parameter required.")
    if wrong := path_segment(ref.name):
        return bad_request(f"Name parameter invalid: {quote(ref.name)}: {';'.join(wrong)}")
    return not_found(ref)
