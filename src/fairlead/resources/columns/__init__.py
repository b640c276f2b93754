"""Tables of built-in kinds: columns, cells and row conditions.

- `registry`: the printer of a resource
- `model`, `cell_text`: columns, and the texts in their cells
- `workloads`: columns that several workloads share
"""
