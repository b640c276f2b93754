"""PodNodeSelector: merges the namespace's node selector into its pods."""

from __future__ import annotations

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.admission.plugins.base import (
    Object,
    PluginBase,
    mutation_error,
    refusal,
    written_pod_spec,
)
from fairlead.admission.plugins.namespaces import NamespaceFacts
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.names import label_value, qualified_name

Labels = dict[str, str]

_ANNOTATION = "scheduler.alpha.@/node-selector"
_SETTINGS = "podNodeSelectorPluginConfig"
_DEFAULT = "clusterDefaultNodeSelector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"
_NOT_ALLOWED = "pod node label selector labels conflict with its namespace whitelist"


class PodNodeSelector(PluginBase):
    """The configuration has node selectors: a default for namespaces without their own, and per
    namespace the labels that its pods may select."""

    name = "PodNodeSelector"

    def __init__(
        self, dialect: Dialect, find: FindNamespace, section: Section | None = None
    ) -> None:
        self._allowed = _settings(section)
        self._default = self._allowed.pop(_DEFAULT, {})
        annotation = dialect.label(_ANNOTATION)

        def of_namespace(annotations: Object) -> Labels | SelectorError:
            text = annotations.get(annotation)
            try:
                return parse_selector(text) if text is not None else self._default
            except SelectorError as error:
                return error

        self._selectors = NamespaceFacts(find, of_namespace)

    def admit(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE,))
        if spec is None:
            return
        wanted_labels = self._namespace_selector(attributes)
        node_selector = spec.get("nodeSelector") or {}
        if _contradict(wanted_labels, node_selector):
            raise mutation_error(attributes, _CONFLICT)
        selector = {**wanted_labels, **node_selector}
        if not self._allows(attributes.namespace, selector):
            raise mutation_error(attributes, _NOT_ALLOWED)
        if selector:
            spec["nodeSelector"] = selector

    def validate(self, attributes: Attributes) -> None:
        spec = written_pod_spec(attributes, (CREATE,))
        if spec is None:
            return
        selector = spec.get("nodeSelector") or {}
        if _contradict(self._namespace_selector(attributes), selector):
            raise refusal(attributes, _CONFLICT)
        if not self._allows(attributes.namespace, selector):
            raise refusal(attributes, _NOT_ALLOWED)

    def _namespace_selector(self, attributes: Attributes) -> Labels:
        selector = self._selectors.of(attributes.namespace)
        if isinstance(selector, SelectorError):
            raise _unreadable(attributes, selector)
        return selector

    def _allows(self, namespace: str, selector: Labels) -> bool:
        allowed = self._allowed.get(namespace)
        return not allowed or selector.items() <= allowed.items()


class SelectorError(ValueError):
    """A text that is not a node selector."""


def parse_selector(text: str) -> Labels:
    """Parse `a=b,c=d`; raises SelectorError."""
    labels: Labels = {}
    for part in text.split(",") if text else ():
        pair = part.split("=")
        if len(pair) != 2:
            raise SelectorError(f"invalid selector: [{' '.join(pair)}]")
        key, value = pair[0].strip(), pair[1].strip()
        for noun, word, errors in (
            ("label key", key, qualified_name(key)),
            ("label value", value, label_value(value)),
        ):
            if errors:
                raise SelectorError(f'invalid {noun} "{word}": {"; ".join(errors)}')
        labels[key] = value
    return labels


def _settings(section: Section | None) -> dict[str, Labels]:
    selectors: dict[str, Labels] = {}
    entries = section.value.get(_SETTINGS) if section is not None else None
    for name, text in (entries or {}).items():
        assert section is not None
        try:
            selectors[name] = parse_selector(text)
        except SelectorError as error:
            raise section.error(f"{_SETTINGS}.{name}", str(error)) from None
    return selectors


def _contradict(left: Labels, other: Labels) -> bool:
    return any(other.get(key, value) != value for key, value in left.items())


def _unreadable(attributes: Attributes, error: SelectorError) -> StatusError:
    return mutation_error(
        attributes,
        f'the node selector of namespace "{attributes.namespace}" cannot be read: {error}',
    )
