"""What is particular to a resource. May use `wire`, `storage`, `fields`, `codec` and `base`.

- `registry`: the served resources, read from `resources.table`
- `behaviour`, `catalogue`: the hooks of a kind, and which kind has which
- a package for each group: rules, defaults, conversion and `columns`
- `custom/`: custom resources, from a definition to a served resource
- `causes`, `rules`, `metadata`, `conditions`: rules that many kinds share
- `columns/`: what a Table shows of any kind
- `gates`, `runtime_config`: feature gates and which versions are served
- `etcd_format/`: keys and values in etcd as the reference lays them out
"""
