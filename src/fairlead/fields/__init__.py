"""Patches, server-side apply and the ownership of fields, over the one type model.

The package does not depend on HTTP, users, storage or kinds: objects are dictionaries decoded from
JSON, types are `codec.types.model.Struct`s, and every error is an exception of `errors` (patches)
or `conflicts` (apply). No function changes its arguments; results share parts with them, so a
caller that changes a result in place must copy it first.

Entry points:

- `json_patch.operations`, `json_patch.apply_json_patch`
- `merge_patch.merge_document`, `merge_patch.apply_merge_patch`
- `strategic.strategic_document`, `strategic.apply_strategic_patch`
- `ownership.track_update`, `ownership.apply`, `ownership.Versions`, `ownership.OneVersion`
- `field_sets.of`

The `scale` subresource needs no code here: it is tracked as an update (or apply) of the parent
object with `subresource="scale"`, so that the scaling manager owns the parent's replicas.
"""
