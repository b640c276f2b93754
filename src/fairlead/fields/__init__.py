"""Patches, server-side apply and the ownership of fields, over the one type model.

Nothing in here knows of HTTP, users, storage or kinds: objects are plain dictionaries as decoded
from JSON, types are `codec.types.model.Struct`s, and every refusal is one of the exceptions of
`errors` (patches) or `conflicts` (apply). No function changes its arguments; results share parts
with them, so a caller that changes a result in place must copy it first.

What callers use:

- `json_patch.operations`, `json_patch.apply_json_patch`
- `merge_patch.merge_document`, `merge_patch.apply_merge_patch`
- `strategic.strategic_document`, `strategic.apply_strategic_patch`
- `ownership.track_update`, `ownership.apply`, `ownership.Versions`, `ownership.OneVersion`
- `field_sets.of`

The `scale` subresource needs nothing of its own: it is tracked as an update (or apply) of the
parent object with `subresource="scale"`, so that whoever scales owns the parent's replicas.
"""
