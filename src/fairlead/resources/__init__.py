"""The rules of each resource. May use `wire`, `storage`, `fields`, `codec` and `base`.

- `registry`: the served resources, read from `resources.table`
- `behaviour`, `context`, `catalogue`: the hooks of a kind, what they get, and which kind has which
- a package for each group: rules, defaults, conversion and columns
- `custom/`: custom resources, from a definition to a served resource
- `causes`, `go_notation`: the errors in an object, and how messages print values
- `rules`, `metadata`: rules that many kinds share
- `columns/`: the columns and cells of Tables
- `gates`, `gated_fields`: feature gates, and the fields that they drop from objects
- `runtime_config`: which versions are served
- `etcd_format/`: keys and values in etcd in the reference's layout
"""
