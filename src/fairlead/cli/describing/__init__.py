"""Objects in detail, as `describe` shows them: one module a group of kinds."""
