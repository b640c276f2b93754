"""OpenAPI documents, generated from the type model and the registry of resources."""

from fairlead.api.openapi.knowledge import CustomSchema
from fairlead.api.openapi.service import OpenApi

__all__ = ["CustomSchema", "OpenApi"]
