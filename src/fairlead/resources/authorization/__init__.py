"""Kinds of the authorization group. None is stored."""

from fairlead.resources.authorization.reviews import (
    check_local_subject_access_review,
    check_self_subject_access_review,
    check_self_subject_rules_review,
    check_subject_access_review,
)

__all__ = [
    "BEHAVIOURS",
    "check_local_subject_access_review",
    "check_self_subject_access_review",
    "check_self_subject_rules_review",
    "check_subject_access_review",
]

BEHAVIOURS: dict[str, str] = {}
