"""What may change or refuse a write before it is stored. May use `auth` and what is below.

- `chain`: plugins that change a write, then plugins that only judge it
- `plugin`: what a plugin is, and a write as plugins see it
- `catalogue`: which plugins there are, their order, and which are switched on
- `plugins/`: one module a plugin
- `webhooks/`: mutating and validating webhooks
- `configuration`: `--admission-control-config-file`
"""
