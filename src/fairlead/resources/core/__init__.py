"""Kinds of the core group."""

BEHAVIOURS: dict[str, str] = {
    "core/v1/configmaps": "config_maps.ConfigMapBehaviour",
    "core/v1/endpoints": "endpoints.EndpointsBehaviour",
    "core/v1/events": "events.EventBehaviour",
    "core/v1/limitranges": "limit_ranges.LimitRangeBehaviour",
    "core/v1/namespaces": "namespaces.NamespaceBehaviour",
    "core/v1/nodes": "nodes.NodeBehaviour",
    "core/v1/persistentvolumeclaims": "persistent_volume_claims.PersistentVolumeClaimBehaviour",
    "core/v1/persistentvolumes": "persistent_volumes.PersistentVolumeBehaviour",
    "core/v1/pods": "pods.behaviour.PodBehaviour",
    "core/v1/podtemplates": "pod_templates.PodTemplateBehaviour",
    "core/v1/replicationcontrollers": "replication_controllers.ReplicationControllerBehaviour",
    "core/v1/resourcequotas": "resource_quotas.ResourceQuotaBehaviour",
    "core/v1/secrets": "secrets.SecretBehaviour",
    "core/v1/serviceaccounts": "service_accounts.ServiceAccountBehaviour",
    "core/v1/services": "services.behaviour.ServiceBehaviour",
}
