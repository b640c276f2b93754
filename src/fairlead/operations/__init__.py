"""What each verb does to objects. May use `admission` and what is below.

A verb is a function of the `Api`, an `Operation` (who wants what of which resource) and its
options. It returns stored versions or raises StatusError, and knows nothing of HTTP: controllers
use the same functions through `client`.

- `api`, `operation`, `options`: what verbs work with
- `create`, `update`, `patch`, `apply`, `delete`, `get`, `list`, `watch`: the verbs
- `binding`, `eviction`, `tokens`, `access_reviews`: resources that are actions
- `write_pipeline`, `retries`, `managed_fields`, `field_validation`: what all writes share
- `stored_versions`, `views`, `shapes`: between the stored version and the one that is asked for
- `known_applies`, `known_configurations`: what was applied before and changed nothing
"""
