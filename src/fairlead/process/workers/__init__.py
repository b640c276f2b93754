"""Several processes of one server: the `parent`, each `worker`, and its `slot` among them."""
