"""The two dialects: the names and the behaviours that differ between them.

The dialect `cluster` follows the specification, `kubernetes` the reference. `tools/reference.py`
generates docs/reference/dialects.md from the texts in this module.
"""

from __future__ import annotations

from typing import Annotated, overload

# The annotation in which client-side apply keeps its last configuration; `Dialect.label`
# fills in the domain.
LAST_APPLIED = "kubectl.@/last-applied-configuration"


class Switch:
    """A behaviour in which the specification and the reference differ: an attribute of a dialect
    that is True where the dialect follows the specification.

    `section` is the document and section of the specification, `specified` what it says there, and
    `reference` what the reference does instead.
    """

    def __init__(self, section: str, specified: str, reference: str) -> None:
        self.section = section
        self.specified = specified
        self.reference = reference

    @overload
    def __get__(self, dialect: None, owner: type[Dialect]) -> Switch: ...
    @overload
    def __get__(self, dialect: Dialect, owner: type[Dialect]) -> bool: ...
    def __get__(self, dialect: Dialect | None, owner: type[Dialect]) -> Switch | bool:
        return self if dialect is None else dialect.follows_specification


class Dialect:
    """Names and switches of a dialect. No other module spells out one of these names.

    `@` in our tables stands for a domain: `group_name` and `label` fill it in. The text annotated
    to each name describes it; only the documentation uses it.
    """

    name: Annotated[str, "the dialect, as `--dialect` takes it"]
    follows_specification: bool
    group_domain: Annotated[str, "what the names of API groups end with"]
    label_domain: Annotated[
        str, "the domain of labels, annotations, finalizers and types of Secrets"
    ]
    system_prefix: Annotated[str, "what the names of the system's namespaces begin with"]
    own_service: Annotated[str, "the Service of the server itself, in the namespace `default`"]
    client_manager: Annotated[str, "the field manager of clients that apply on their own side"]
    marker: Annotated[str, "extensions of schemas are called `x-<marker>-…`"]
    protobuf_media_type: Annotated[str, "the media type of protobuf"]
    signer_client: Annotated[str, "the signer of client certificates"]
    signer_client_node: Annotated[str, "the signer of the client certificates of nodes"]
    signer_node_serving: Annotated[str, "the signer of the serving certificates of nodes"]
    signer_legacy: Annotated[str, "the signer of older clients"]
    default_release: Annotated[str, "the release of the API unless `--release` is given"]
    pvc_protection: Annotated[str, "the finalizer of claims in use"] = (
        "kubernetes.io/pvc-protection"
    )
    pv_protection: Annotated[str, "the finalizer of volumes in use"] = "kubernetes.io/pv-protection"
    printed_hostname: Annotated[
        str, "what LimitPodHardAntiAffinityTopology takes beside the label of host names"
    ] = "kubernetes.io/hostname"

    # No data class: making one takes 2 % of the CPU of a command.
    def __init__(self, **names: str | bool) -> None:
        unknown = names.keys() - Dialect.__annotations__.keys()
        if unknown:
            raise TypeError(f"a dialect has no {', '.join(sorted(unknown))}")
        self.__dict__.update(names)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a dialect is frozen: {name}")

    item_watch = Switch(
        "1, Verbs and HTTP mapping",
        "`watch=1` also watches a single item.",
        "A GET of an item takes no notice of `watch`.",
    )
    bare_bookmarks = Switch(
        "1, Events",
        "The object of a bookmark holds its resourceVersion and nothing else.",
        "It is an empty object of the kind, with the fields that every such object has.",
    )
    deletecollection_status = Switch(
        "3, Per-kind operations",
        "deletecollection answers with a Status.",
        "It answers with the list of what was deleted.",
    )
    bare_dry_run_writes = Switch(
        "1, Query parameters",
        "A bare `?dryRun` means that side effects are wanted.",
        "It is refused: the empty text is no value of `dryRun`.",
    )
    dry_runs_allocate = Switch(
        "1, Dry-run",
        "A dry run of a Service that asks for an address or port that it cannot have is refused "
        "like the real write.",
        "Addresses in use and ports outside of the range are let through.",
    )
    strict_patch_bad_request = Switch(
        "1, Field validation",
        "A patch with unknown or repeated fields is a 400 under Strict.",
        "It is a 422 about the patch.",
    )
    unknown_and_invalid_bad_request = Switch(
        "1, Field validation",
        "An object with an unknown field that is invalid for another reason too is a 400 at "
        "every level.",
        "It is a 422.",
    )
    apply_drops_unknown = Switch(
        "1, Field validation",
        "Unknown fields of an applied configuration are dropped, with a warning.",
        "An apply that has any is refused at every level of validation.",
    )
    emptied_maps_stay = Switch(
        "1, Server-side apply",
        "A map of a custom object that an apply states to be empty stays, also if it lost its "
        "last field to that apply.",
        "Such a map becomes null, which the schema refuses or drops.",
    )
    strict_apply_names_all = Switch(
        "1, Field validation",
        "A strict apply that is refused names all of its repeated and unknown fields.",
        "It names the unknown ones only where none are repeated.",
    )
    required_fields_refused = Switch(
        "1, Field validation",
        "A required field that is left out is an error.",
        "A field that is left out is taken as its empty value, which the rules of the kind may "
        "refuse or not.",
    )
    path_wildcard_steps_only = Switch(
        "3, ClusterRole",
        "`*` in nonResourceURLs stands for the whole last step of a path.",
        "It stands for the rest of any text: `/health*` matches `/healthz`.",
    )
    impersonation_cluster_wide = Switch(
        "2, Impersonation",
        "Impersonation is not bound to namespaces and needs a right in the whole cluster.",
        "The right to impersonate a service account may come from a role in its namespace.",
    )
    claim_templates_mounted = Switch(
        "3, StatefulSet",
        "Each claim template needs a volumeMount of its name in a container.",
        "Templates that nothing mounts are taken.",
    )
    scale_untracked = Switch(
        "1, Server-side apply",
        "Subresources that do not take the object's own type are not tracked for ownership.",
        "Who writes a scale owns the number of replicas.",
    )
    empty_managed_fields_kept = Switch(
        "1, Server-side apply",
        "An empty list of managedFields resets nothing.",
        "It resets them like a list with one empty entry.",
    )
    reset_then_own = Switch(
        "1, Server-side apply",
        "A write that resets managedFields and changes fields owns what it changes.",
        "It leaves no entries at all.",
    )
    verbose_always_healthz = Switch(
        "1, Health endpoints",
        "Verbose output of every health endpoint ends with `healthz check passed`.",
        "It ends with the name of the endpoint that was asked.",
    )
    client_signer_unlimited = Switch(
        "2, Built-in signers",
        "The signer of client certificates sets no limits to subjects.",
        "CertificateSubjectRestriction is on and refuses the group `system:masters`.",
    )
    deny_without_signer_right = Switch(
        "2, Certificate signing request",
        "Who may update the approval may deny a request.",
        "Denying needs the right `approve` on the signer, like approving.",
    )
    oidc_groups_array_only = Switch(
        "2, OpenID Connect flags",
        "The groups claim must be an array of texts.",
        "A single text is taken, too.",
    )
    statefulset_service_name_required = Switch(
        "3, StatefulSet",
        "`spec.serviceName` is required.",
        "It may be empty.",
    )
    toleration_conflicts_refused = Switch(
        "3, Built-in admission plugins",
        "PodTolerationRestriction refuses a pod whose tolerations conflict with those of its "
        "namespace.",
        "The pod's and the namespace's tolerations are put together.",
    )
    usual_tolerations_allowed = Switch(
        "3, Built-in admission plugins",
        "PodTolerationRestriction checks what pods and namespaces ask for; what the server "
        "itself adds to every pod is no part of that.",
        "The allow-list must have the server's own tolerations, too.",
    )
    set_overhead_refused = Switch(
        "3, Built-in admission plugins",
        "RuntimeClass refuses pods that already have an overhead.",
        "It takes those whose overhead is that of their class.",
    )
    owner_unblocking_guarded = Switch(
        "3, Built-in admission plugins",
        "Changing `blockOwnerDeletion` in any direction needs the right to update the owner's "
        "finalizers.",
        "Only setting it needs that right.",
    )
    nodes_keep_themselves = Switch(
        "3, Built-in admission plugins",
        "NodeRestriction does not let a node delete its own Node.",
        "It leaves that to the authorizer.",
    )
    image_review_group_needed = Switch(
        "3, Webhook callbacks",
        "ImagePolicyWebhook needs its API group enabled by `--runtime-config`.",
        "It works without.",
    )
    limit_ranger_default_cpu = Switch(
        "3, Built-in admission plugins",
        "LimitRanger requests 0.1 CPU for pods of the namespace `default` that have no "
        "constraints.",
        "A namespace without LimitRange has no defaults.",
    )
    created_at_column = Switch(
        "1, Table representation",
        "Tables of kinds without columns of their own have Name and Created At.",
        "Tables of custom resources have Name and Age.",
    )
    node_usages_exact = Switch(
        "2, Built-in signers",
        "Requests to the signers of nodes have exactly three key usages.",
        "Key encipherment may be left out.",
    )
    cluster_info_full_token = Switch(
        "2, Bootstrap token Secret",
        "The signatures of `cluster-info` have the whole token as their key.",
        "Their key is the secret part of the token.",
    )
    unissued_requests_cleaned = Switch(
        "2, Certificate signing request",
        "Approved requests are deleted after an hour.",
        "Those without a certificate stay.",
    )

    object_selectors_need_labels = Switch(
        "3, Webhook configurations",
        "An objectSelector that selects anything at all never matches objects without labels.",
        "`NotIn` and `DoesNotExist` match them.",
    )
    service_path_filled = Switch(
        "3, Webhook configurations",
        "The path of a webhook's service is `/` unless it is given.",
        "It is left out, and `/` is called.",
    )
    deletecollection_lists_version = Switch(
        "3, Parameters and bodies",
        "`resourceVersion` of a deletecollection says which state is listed.",
        "It is also a precondition of each delete.",
    )
    deletion_starts_now = Switch(
        "1, Two-phase deletion",
        "`deletionTimestamp` is the time of the first delete request.",
        "It is the time at which the grace period ends; a later delete can bring it nearer.",
    )
    command_line_without_uid = Switch(
        "2, Impersonation",
        "The command line has flags to impersonate a user and groups, none for a uid or more.",
        "Its client has `--as-uid`.",
    )
    local_pod_volumes = Switch(
        "3, Volume",
        "`local` (`path`, `fsType`) is a source of pod volumes.",
        "Only persistent volumes have it; in a pod it is an unknown field.",
    )
    resizing_has_reason = Switch(
        "3, PersistentVolumeClaim",
        "The condition of a claim whose volume is being resized reports ResizeStarted.",
        "It has no reason.",
    )
    volume_capacity_required = Switch(
        "3, CSIStorageCapacity",
        "A published capacity that is missing or zero means none, whatever maximumVolumeSize says.",
        "The scheduler looks at maximumVolumeSize alone where there is one.",
    )

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
        """Return the name of the node agent: the signer's name without `-serving`."""
        return self.signer_node_serving.partition("/")[2].removesuffix("-serving")

    @property
    def meta_group(self) -> str:
        return self.group_name("meta.@")

    def group_name(self, name: str) -> str:
        """Fill the domain of API groups into a name such as `rbac.authorization.@`."""
        return name.replace("@", self.group_domain)

    def label(self, name: str) -> str:
        """Fill the domain of labels into the name of a label, annotation, finalizer or type."""
        return name.replace("@", self.label_domain)

    def marked(self, name: str) -> str:
        """Fill the marker into the name of a schema extension such as `x-@-list-type`."""
        return name.replace("@", self.marker)


CLUSTER = Dialect(
    name="cluster",
    follows_specification=True,
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
    default_release="1.25",
)

KUBERNETES = Dialect(
    name="kubernetes",
    follows_specification=False,
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
    default_release="1.36",
)

DIALECTS = {dialect.name: dialect for dialect in (CLUSTER, KUBERNETES)}

# Every switch by its name, in the order of definition.
SWITCHES = {name: switch for name, switch in vars(Dialect).items() if isinstance(switch, Switch)}
