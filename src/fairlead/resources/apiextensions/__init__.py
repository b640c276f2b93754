"""Kinds of the apiextensions group."""

BEHAVIOURS: dict[str, str] = {
    "apiextensions/v1/customresourcedefinitions": "definitions.CustomResourceDefinitionBehaviour",
}
