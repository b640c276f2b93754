"""Kinds of the apiregistration group."""

BEHAVIOURS: dict[str, str] = {
    "apiregistration/v1/apiservices": "api_services.APIServiceBehaviour",
}
