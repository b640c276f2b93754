"""The verbs on objects. May use `admission` and the packages below it.

A verb is a function of the `Api`, an `Operation` (user, verb, resource, name) and its options. It
returns stored versions or raises StatusError, and is independent of HTTP: controllers call the same
functions through `client`.

- `api`, `operation`, `options`: the parameters of every verb
- `create`, `update`, `patch`, `apply`, `delete`, `get`, `list`, `watch`: the verbs
- `binding`, `eviction`, `tokens`, `access_reviews`: resources that are actions
- `write`: a write as a list of steps; `create` and `update` have theirs
- `commits`, `retries`: what a write waits for
- `write_pipeline`, `managed_fields`: shared by all writes
- `stored_versions`, `views`, `webhook_objects`: between the stored and the requested version
- `configurations`: merging of applied configurations
- `apply_cache`: a cache of applies that changed nothing
"""
