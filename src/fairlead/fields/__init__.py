"""Patches, server-side apply and the ownership of fields, over the one type model.

The package does not depend on HTTP, users, storage or kinds: objects are dictionaries decoded from
JSON, types are `codec.types.model.Struct`s, and every error is an exception of `errors` (patches)
or `conflicts` (apply). No function changes its arguments; results share parts with them, so a
caller that changes a result in place must copy it first.

Patches, each with its check of a document and its application:

- `json_patch`, `merge_patch`, `strategic`; their errors are in `errors`

Ownership, from its entry points inwards:

- `ownership`: `track_update` after a create, update or patch, `apply` for a configuration
- `entries`: managedFields entries, the versions of a kind, and the changes of a write in each
- `stored_entries`: entries whose set of fields is still text
- `field_sets`: sets of fields and their algebra, the one form in which ownership is computed
- `shapes`: how a type takes part in ownership: what has an owner, what identifies a list item
- `walk`: the one walk over values and their shapes, and the hooks of its visitors
- `typed_values`: visitors that extract the fields of an object, compare two, merge two
- `check`, `prune`, `unchanged`: the other visitors
- `duplicates`: list items that share a key
- `conflicts`: errors of apply
- `last_applied`: the annotation of client-side apply
- `values`: copies and comparisons of JSON values

The `scale` subresource needs no code here: it is tracked as an update (or apply) of the parent
object with `subresource="scale"`, so that the scaling manager owns the parent's replicas.
"""
