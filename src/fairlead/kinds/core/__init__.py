"""Kinds of the core group."""

from fairlead.kinds.behaviour import Behaviour
from fairlead.kinds.core.config_maps import ConfigMapBehaviour
from fairlead.kinds.core.endpoints import EndpointsBehaviour
from fairlead.kinds.core.events import EventBehaviour
from fairlead.kinds.core.limit_ranges import LimitRangeBehaviour
from fairlead.kinds.core.namespaces import NamespaceBehaviour
from fairlead.kinds.core.nodes import NodeBehaviour
from fairlead.kinds.core.persistent_volume_claims import PersistentVolumeClaimBehaviour
from fairlead.kinds.core.persistent_volumes import PersistentVolumeBehaviour
from fairlead.kinds.core.pod_templates import PodTemplateBehaviour
from fairlead.kinds.core.pods.behaviour import PodBehaviour
from fairlead.kinds.core.replication_controllers import ReplicationControllerBehaviour
from fairlead.kinds.core.resource_quotas import ResourceQuotaBehaviour
from fairlead.kinds.core.secrets import SecretBehaviour
from fairlead.kinds.core.service_accounts import ServiceAccountBehaviour
from fairlead.kinds.core.services import ServiceBehaviour

BEHAVIOURS: dict[str, type[Behaviour]] = {
    "core/v1/configmaps": ConfigMapBehaviour,
    "core/v1/endpoints": EndpointsBehaviour,
    "core/v1/events": EventBehaviour,
    "core/v1/limitranges": LimitRangeBehaviour,
    "core/v1/namespaces": NamespaceBehaviour,
    "core/v1/nodes": NodeBehaviour,
    "core/v1/persistentvolumeclaims": PersistentVolumeClaimBehaviour,
    "core/v1/persistentvolumes": PersistentVolumeBehaviour,
    "core/v1/pods": PodBehaviour,
    "core/v1/podtemplates": PodTemplateBehaviour,
    "core/v1/replicationcontrollers": ReplicationControllerBehaviour,
    "core/v1/resourcequotas": ResourceQuotaBehaviour,
    "core/v1/secrets": SecretBehaviour,
    "core/v1/serviceaccounts": ServiceAccountBehaviour,
    "core/v1/services": ServiceBehaviour,
}
