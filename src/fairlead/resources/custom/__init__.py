"""Custom resources: from a CustomResourceDefinition to a served resource.

- `registry`: enter here; follows the commits of definitions and serves their resources
- `definition`: a stored definition, parsed, and the order of its versions
- `resource`, `behaviour`, `scale`, `columns`, `ownership`: the resource that is served for it
- `schema/`: its schema, compiled: decoding, defaulting, validation, validation rules
- `webhook_conversion`: conversion between versions by a webhook

The controller that maintains names and conditions is `controllers/custom_resources/`.
"""
