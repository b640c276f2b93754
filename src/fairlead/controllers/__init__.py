"""What keeps the cluster as it should be: one module a controller, on one small framework."""
