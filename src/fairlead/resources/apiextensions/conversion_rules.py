"""Validation of `spec.conversion`: the strategy None, or a webhook."""

from __future__ import annotations

from typing import Any

from fairlead.resources.admissionregistration.client_config import check_client_config
from fairlead.resources.admissionregistration.review_versions import (
    check_review_versions,
    knows_one,
)
from fairlead.resources.causes import Causes
from fairlead.resources.rules import one_of

STRATEGIES = ("None", "Webhook")
ONLY_WITH_WEBHOOK = "should not be set when strategy is not set to Webhook"
_PATH = "spec.conversion"


def review_versions(conversion: dict[str, Any] | None) -> list[str]:
    return ((conversion or {}).get("webhook") or {}).get("conversionReviewVersions") or []


def check_conversion(
    conversion: dict[str, Any] | None, old: dict[str, Any] | None, causes: Causes
) -> None:
    """`old` is the previous conversion: if its webhook supported no review version that we send,
    the new webhook need not either."""
    if conversion is None:
        return
    strategy = conversion["strategy"]
    one_of(strategy, STRATEGIES, f"{_PATH}.strategy", causes)
    config = (conversion.get("webhook") or {}).get("clientConfig")
    versions = review_versions(conversion)
    if strategy != "Webhook":
        if config is not None:
            causes.forbidden(f"{_PATH}.webhookClientConfig", ONLY_WITH_WEBHOOK)
        if versions:
            causes.forbidden(f"{_PATH}.conversionReviewVersions", ONLY_WITH_WEBHOOK)
        return
    if config is None:
        detail = "required when strategy is set to Webhook"
        causes.required(f"{_PATH}.webhookClientConfig", detail)
    else:
        check_client_config(config, f"{_PATH}.webhookClientConfig", causes)
    known = old is None or knows_one(review_versions(old))
    path = f"{_PATH}.conversionReviewVersions"
    check_review_versions(versions, path, causes, missing="", known=known)
