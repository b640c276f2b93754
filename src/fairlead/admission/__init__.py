"""Plugins and webhooks that change or reject writes. May use `auth` and the packages below it.

- `chain`: runs the mutating steps, then the validating steps
- `plugin`: the plugin interface, and a write as plugins see it
- `catalogue`: the list of plugins, their order, and which are enabled
- `plugins/`: the plugins
- `webhooks/`: mutating and validating webhooks
- `configuration`: `--admission-control-config-file`
"""
