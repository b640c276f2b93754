"""Kinds of the core group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.core.config_maps import ConfigMapBehaviour
from fairlead.kinds.core.namespaces import NamespaceBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "core/v1/configmaps": ConfigMapBehaviour,
    "core/v1/namespaces": NamespaceBehaviour,
}
