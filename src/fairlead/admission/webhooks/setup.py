"""Constructs the two webhook plugins from the server's configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from fairlead.admission.configuration import Configuration
from fairlead.admission.plugin import Plugin
from fairlead.admission.plugins.version_facts import FindNamespace
from fairlead.admission.webhooks.configurations import Configurations
from fairlead.admission.webhooks.documents import DocumentConverter
from fairlead.admission.webhooks.plugins import (
    Applies,
    Dependencies,
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
)
from fairlead.admission.webhooks.reviews import Reviews
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.model import Object
from fairlead.resources.registry import Resources
from fairlead.storage.audience import Follower
from fairlead.wire.outgoing.client_config import (
    ClientConfigError,
    HostCredentials,
    load_host_credentials,
)
from fairlead.wire.outgoing.webhooks import Webhook, Webhooks

_PLUGINS = {
    "admissionregistration/v1/mutatingwebhookconfigurations": MutatingAdmissionWebhook,
    "admissionregistration/v1/validatingwebhookconfigurations": ValidatingAdmissionWebhook,
}


class WebhookDependencies(NamedTuple):
    """The dependencies of the plugins. `follow` registers a listener for the commits of a resource,
    called before their clients get a response. `on_change` is called when the set of webhooks
    changes. `is_serving` returns whether startup is complete. `applies` evaluates match
    conditions."""

    resources: Resources
    webhooks: Webhooks
    converter: DocumentConverter
    find: FindNamespace
    follow: Callable[[str, Follower], None]
    on_change: Callable[[], None]
    is_serving: Callable[[], bool]
    applies: Applies


def webhook_plugins(
    dependencies: WebhookDependencies, configuration: Configuration, enabled: Collection[str]
) -> dict[str, Plugin]:
    """The enabled plugins among the two, by name; raises ConfigurationError."""
    reviews = Reviews(dependencies.resources)
    plugins: dict[str, Plugin] = {}
    for key, plugin in _PLUGINS.items():
        if plugin.name not in enabled:
            continue
        users = _credentials(configuration.of(plugin.name))
        followed = _follow(dependencies, key, users)
        plugin_dependencies = Dependencies(
            followed, reviews, dependencies.converter, dependencies.find, dependencies.applies
        )
        plugins[plugin.name] = plugin(dependencies.resources.dialect, plugin_dependencies)
    return plugins


def _follow(dependencies: WebhookDependencies, key: str, users: HostCredentials) -> Configurations:
    def webhook(client_config: Object) -> Webhook:
        return dependencies.webhooks.webhook(client_config, users)

    configurations = Configurations(
        dependencies.resources, webhook, dependencies.on_change, dependencies.is_serving
    )
    dependencies.follow(key, configurations.changed)
    return configurations


def _credentials(section: Section | None) -> HostCredentials:
    file = section.value.get("kubeConfigFile", "") if section is not None else ""
    if section is None or not file:
        return HostCredentials()
    try:
        return load_host_credentials(section.beside(file))
    except ClientConfigError as error:
        raise section.error("kubeConfigFile", str(error)) from None
