"""Admission: plugins and webhooks that may change or reject a write before it is stored. May import
`auth` and the layers below it.

- `chain`: runs the mutating steps, then the validating steps
- `plugin`: the plugin interface, and a write as plugins see it
- `catalogue`: the list of plugins, their order, and which are enabled
- `plugins/`: one module per plugin
- `webhooks/`: mutating and validating webhooks
- `configuration`: `--admission-control-config-file`
"""
