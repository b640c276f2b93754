"""The rules of TokenReview and TokenRequest. They are not stored: whoever answers them calls
these."""

from __future__ import annotations

from fairlead.base.errors import bad_request
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.storage.csi_drivers import check_token_lifetime


def check_token_review(value: Object, causes: Causes) -> None:
    """A token must be given: without one the request itself is refused (StatusError)."""
    if not value["spec"].get("token"):
        raise bad_request("token is required for TokenReview in authentication")


def check_token_request(value: Object, causes: Causes) -> None:
    """How long the token may live; that the names fit the account is for the caller to see."""
    seconds = value["spec"].get("expirationSeconds")
    check_token_lifetime(seconds, "spec.expirationSeconds", causes)
