"""The OpenAPI documents, generated from the type model and the table of resources."""

from fairlead.endpoints.openapi.knowledge import CustomSchema
from fairlead.endpoints.openapi.service import OpenApi

__all__ = ["CustomSchema", "OpenApi"]
