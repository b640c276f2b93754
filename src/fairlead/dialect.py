"""Every name that differs between the two dialects, in one frozen object chosen at start."""

from __future__ import annotations

from fairlead.records import dataclass

# The annotation in which client-side apply keeps its last configuration; `Dialect.label`
# fills in the domain.
LAST_APPLIED = "kubectl.@/last-applied-configuration"


@dataclass(frozen=True, slots=True, eq=False)  # there is one of each; hashed all the time
class Dialect:
    """Names and switches of a dialect; no other module spells one of these names.

    `@` in our tables stands for a domain: `group_name` and `label` fill it in.
    """

    name: str
    group_domain: str
    label_domain: str
    system_prefix: str
    own_service: str
    client_manager: str
    marker: str
    protobuf_media_type: str
    signer_client: str
    signer_client_node: str
    signer_node_serving: str
    signer_legacy: str

    # Where the specification and the reference differ: True follows the specification.
    item_watch: bool
    bare_bookmarks: bool
    deletecollection_status: bool
    bare_dry_run_writes: bool
    strict_patch_bad_request: bool
    unknown_and_invalid_bad_request: bool
    apply_drops_unknown: bool
    emptied_maps_stay: bool
    required_fields_refused: bool
    path_wildcard_steps_only: bool
    impersonation_cluster_wide: bool
    claim_templates_mounted: bool
    scale_untracked: bool
    empty_managed_fields_kept: bool
    reset_then_own: bool
    verbose_always_healthz: bool
    client_signer_unlimited: bool
    deny_without_signer_right: bool
    oidc_groups_array_only: bool
    statefulset_service_name_required: bool
    toleration_conflicts_refused: bool
    usual_tolerations_allowed: bool
    set_overhead_refused: bool
    owner_unblocking_guarded: bool
    image_review_group_needed: bool
    limit_ranger_default_cpu: bool
    created_at_column: bool
    node_usages_exact: bool
    cluster_info_full_token: bool
    unissued_requests_cleaned: bool

    pvc_protection: str = "kubernetes.io/pvc-protection"
    pv_protection: str = "kubernetes.io/pv-protection"
    printed_hostname: str = "kubernetes.io/hostname"  # as the specification writes it once

    @property
    def system_namespace(self) -> str:
        return f"{self.system_prefix}-system"

    @property
    def public_namespace(self) -> str:
        return f"{self.system_prefix}-public"

    @property
    def node_lease_namespace(self) -> str:
        return f"{self.system_prefix}-node-lease"

    @property
    def system_namespaces(self) -> tuple[str, ...]:
        return (self.system_namespace, self.public_namespace, self.node_lease_namespace)

    @property
    def ca_config_map(self) -> str:
        return f"{self.system_prefix}-root-ca.crt"

    @property
    def node_agent(self) -> str:
        """What the agent of a node calls itself."""
        return self.signer_node_serving.partition("/")[2].removesuffix("-serving")

    @property
    def meta_group(self) -> str:
        return self.group_name("meta.@")

    def group_name(self, name: str) -> str:
        """The full name of an API group written with `@` for the domain."""
        return name.replace("@", self.group_domain)

    def label(self, name: str) -> str:
        """A label, annotation, finalizer or type name written with `@` for the domain."""
        return name.replace("@", self.label_domain)

    def marked(self, name: str) -> str:
        """A schema extension such as `x-@-list-type`."""
        return name.replace("@", self.marker)


CLUSTER = Dialect(
    name="cluster",
    group_domain="cluster.io",
    label_domain="cluster.io",
    system_prefix="cluster",
    own_service="cluster",
    client_manager="kubectl",
    marker="cluster",
    protobuf_media_type="application/vnd.cluster.protobuf",
    signer_client="cluster.io/api-server-client",
    signer_client_node="cluster.io/api-server-client-node-agent",
    signer_node_serving="cluster.io/node-agent-serving",
    signer_legacy="cluster.io/legacy-unknown",
    item_watch=True,
    bare_bookmarks=True,
    deletecollection_status=True,
    bare_dry_run_writes=True,
    strict_patch_bad_request=True,
    unknown_and_invalid_bad_request=True,
    apply_drops_unknown=True,
    emptied_maps_stay=True,
    required_fields_refused=True,
    path_wildcard_steps_only=True,
    impersonation_cluster_wide=True,
    claim_templates_mounted=True,
    scale_untracked=True,
    empty_managed_fields_kept=True,
    reset_then_own=True,
    verbose_always_healthz=True,
    client_signer_unlimited=True,
    deny_without_signer_right=True,
    oidc_groups_array_only=True,
    statefulset_service_name_required=True,
    toleration_conflicts_refused=True,
    usual_tolerations_allowed=True,
    set_overhead_refused=True,
    owner_unblocking_guarded=True,
    image_review_group_needed=True,
    limit_ranger_default_cpu=True,
    created_at_column=True,
    node_usages_exact=True,
    cluster_info_full_token=True,
    unissued_requests_cleaned=True,
)

KUBERNETES = Dialect(
    name="kubernetes",
    group_domain="k8s.io",
    label_domain="kubernetes.io",
    system_prefix="kube",
    own_service="kubernetes",
    client_manager="kubectl",
    marker="kubernetes",
    protobuf_media_type="application/vnd.kubernetes.protobuf",
    signer_client="kubernetes.io/kube-apiserver-client",
    signer_client_node="kubernetes.io/kube-apiserver-client-kubelet",
    signer_node_serving="kubernetes.io/kubelet-serving",
    signer_legacy="kubernetes.io/legacy-unknown",
    item_watch=False,
    bare_bookmarks=False,
    deletecollection_status=False,
    bare_dry_run_writes=False,
    strict_patch_bad_request=False,
    unknown_and_invalid_bad_request=False,
    apply_drops_unknown=False,
    emptied_maps_stay=False,
    required_fields_refused=False,
    path_wildcard_steps_only=False,
    impersonation_cluster_wide=False,
    claim_templates_mounted=False,
    scale_untracked=False,
    empty_managed_fields_kept=False,
    reset_then_own=False,
    verbose_always_healthz=False,
    client_signer_unlimited=False,
    deny_without_signer_right=False,
    oidc_groups_array_only=False,
    statefulset_service_name_required=False,
    toleration_conflicts_refused=False,
    usual_tolerations_allowed=False,
    set_overhead_refused=False,
    owner_unblocking_guarded=False,
    image_review_group_needed=False,
    limit_ranger_default_cpu=False,
    created_at_column=False,
    node_usages_exact=False,
    cluster_info_full_token=False,
    unissued_requests_cleaned=False,
)

DIALECTS = {dialect.name: dialect for dialect in (CLUSTER, KUBERNETES)}
