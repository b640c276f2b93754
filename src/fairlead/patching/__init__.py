"""Patches, server-side apply and the ownership of fields, over the one type model.

Nothing in here knows of HTTP, users, storage or kinds: objects are plain dictionaries as decoded
from JSON, types are `fairlead.schema.model.Struct`s, and every refusal is one of the exceptions of
`errors` (patches) or `conflicts` (apply). No function changes its arguments; results share unchanged
parts with them, so a caller that changes a result in place must copy it first.
"""
