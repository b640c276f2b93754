"""Errors of patches. The caller turns each class into one kind of Status.

| exception | the reference's answer |
|---|---|
| `MalformedPatch` | 400 BadRequest with the text |
| `TooManyOperations` | 413 RequestEntityTooLarge with the text |
| `OperationFailed` | 422 Invalid, without details; the text is shown for a webhook's patch only |
| `UnsupportedPatch` | 500 with the text and no reason (a 4xx is as good) |
"""

from __future__ import annotations


class PatchError(Exception):
    """A patch that cannot be applied; `str()` is the text for the client or the log."""


class MalformedPatch(PatchError):
    """The document is not a patch of its type."""


class TooManyOperations(PatchError):
    """A JSON patch longer than the limit."""


class OperationFailed(PatchError):
    """A well-formed JSON patch that does not fit the object: a missing path, a failed test."""


class FailedTest(OperationFailed):
    """A test of a JSON patch that found another value."""


class UnsupportedPatch(PatchError):
    """A strategic merge patch with an unknown directive or list elements that lack their key."""
