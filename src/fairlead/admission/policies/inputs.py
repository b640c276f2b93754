"""The values of variables in expressions: the request, its objects, its namespace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fairlead.admission.metrics import CONDITION_EXCLUSIONS, count_conditions
from fairlead.admission.plugin import Attributes
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.policies import compilation, evaluation
from fairlead.admission.webhooks.documents import Documents
from fairlead.admission.webhooks.match import Match, namespace_of
from fairlead.admission.webhooks.reviews import Reviews, resource_of, user_info
from fairlead.auth.authorization.attributes import Attributes as AccessAttributes
from fairlead.auth.authorization.attributes import Decision
from fairlead.base.errors import ResourceRef, StatusError, forbidden, not_found
from fairlead.codec.cel.authorizer import Question
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resource, Resources

NAMESPACES = "core/v1/namespaces"
# The metadata of a namespace that expressions see.
_NAMESPACE_METADATA = (
    "name",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)

# Returns the authorizer's decision.
Decide = Callable[[AccessAttributes], Awaitable[Decision]]


class InputBuilder:
    """Builds the inputs of expressions for writes."""

    def __init__(self, resources: Resources, find: FindNamespace, decide: Decide) -> None:
        self.resources = resources
        self.find = find
        self._decide = decide
        self._reviews = Reviews(resources)

    def decisions(self, attributes: Attributes) -> evaluation.Decisions:
        return evaluation.Decisions(attributes.user, self._decide)

    async def inputs(
        self,
        attributes: Attributes,
        documents: Documents,
        resource: Resource,
        decisions: evaluation.Decisions,
    ) -> tuple[evaluation.Inputs, int]:
        """The inputs in the version of a resource, without namespace and parameters, and the size
        of the objects in bytes."""
        new, old, size = await documents.objects(resource)
        request = self._request(attributes, resource)
        return evaluation.Inputs(
            new, old, request, self._requested(attributes), decisions=decisions
        ), size

    def _request(self, attributes: Attributes, resource: Resource) -> Object:
        written = attributes.resource
        request: Object = {
            "uid": "",
            "kind": self._reviews.kind_of(resource),
            "resource": resource_of(resource),
            "requestKind": self._reviews.kind_of(written),
            "requestResource": resource_of(written),
            "operation": attributes.operation,
            "userInfo": user_info(attributes.user),
            "dryRun": attributes.context.dry_run,
        }
        optional = {
            "subResource": written.subresource,
            "requestSubResource": written.subresource,
            "name": attributes.name,
            "namespace": namespace_of(attributes),
            "options": self._reviews.options_of(attributes),
        }
        request.update((name, value) for name, value in optional.items() if value)
        groups = request["userInfo"].get("groups")
        if groups is not None:
            request["userInfo"]["groups"] = list(groups)
        extra = request["userInfo"].get("extra")
        if extra is not None:
            request["userInfo"]["extra"] = {key: list(values) for key, values in extra.items()}
        return request

    def _requested(self, attributes: Attributes) -> Question:
        main = attributes.resource.main
        return Question(
            group=main.group,
            resource=main.name,
            subresource=attributes.resource.subresource,
            namespace=namespace_of(attributes),
            name=attributes.name,
        )

    def namespace(self, attributes: Attributes) -> Object | None:
        """The namespace of a write as expressions see it; None if its resource is cluster-scoped.
        Raises NotFound."""
        name = attributes.namespace
        if not name or attributes.resource.main.key == NAMESPACES:
            return None
        version = self.find(name)
        if version is None:
            raise not_found(ResourceRef("", "namespaces", name))
        namespace = version.object()
        metadata = namespace["metadata"]
        shown = {key: metadata[key] for key in _NAMESPACE_METADATA if key in metadata}
        return {**namespace, "metadata": shown}

    async def webhook_applies(
        self, match: Match, attributes: Attributes, documents: Documents
    ) -> bool:
        """Whether the match conditions of a webhook hold. Raises Forbidden if they cannot be
        evaluated and the webhook does not ignore failures."""
        hook = match.hook
        if hook.compiled is None:
            release = self.resources.release
            hook.compiled = compilation.compile_conditions(hook.conditions, release)
        decisions = self.decisions(attributes)
        step = "validate" if documents.is_final else "admit"
        inputs, size = await self.inputs(attributes, documents, match.resource, decisions)
        conditions = await decisions.run(
            size, evaluation.evaluate_conditions, hook.compiled, inputs, {}
        )
        labels = hook.name, "webhook", step, attributes.operation
        count_conditions(conditions, *labels)
        try:
            holds = conditions.hold(ignores_failure=hook.ignores_failure)
        except evaluation.MatchFailed as error:
            raise _refused(attributes, str(error)) from None
        if not holds:
            CONDITION_EXCLUSIONS.add(of=labels)
        return holds


def _refused(attributes: Attributes, reason: str) -> StatusError:
    return forbidden(attributes.resource.main.ref(attributes.name), reason)
