"""Kinds of the core group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.core.config_maps import ConfigMapBehaviour
from fairlead.kinds.core.namespaces import NamespaceBehaviour
from fairlead.kinds.core.pod_templates import PodTemplateBehaviour
from fairlead.kinds.core.pods.behaviour import PodBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "core/v1/configmaps": ConfigMapBehaviour,
    "core/v1/namespaces": NamespaceBehaviour,
    "core/v1/pods": PodBehaviour,
    "core/v1/podtemplates": PodTemplateBehaviour,
}
