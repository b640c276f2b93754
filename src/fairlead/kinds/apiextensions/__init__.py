"""Kinds of the apiextensions group."""

from fairlead.kinds.apiextensions.definitions import CustomResourceDefinitionBehaviour
from fairlead.kinds.behaviour import Behaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "apiextensions/v1/customresourcedefinitions": CustomResourceDefinitionBehaviour,
}
