"""Kinds of the authentication group. None is stored."""

from fairlead.resources.authentication.reviews import check_token_request, check_token_review

__all__ = ["BEHAVIOURS", "check_token_request", "check_token_review"]

BEHAVIOURS: dict[str, str] = {}
