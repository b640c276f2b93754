"""Kinds of the authentication group, TokenReview and TokenRequest. They are not stored: their
request handlers call these rules."""

from fairlead.base.errors import bad_request
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.storage.csi import check_token_lifetime

BEHAVIOURS: dict[str, str] = {}


def check_token_review(value: Object, causes: Causes) -> None:
    """Raises StatusError if the token is missing."""
    if not value["spec"].get("token"):
        raise bad_request("token is required for TokenReview in authentication")


def check_token_request(value: Object, causes: Causes) -> None:
    """Check the lifetime of the token. The caller checks that the names match the service
    account."""
    seconds = value["spec"].get("expirationSeconds")
    check_token_lifetime(seconds, "spec.expirationSeconds", causes)
