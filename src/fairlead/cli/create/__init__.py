"""`create` from flags instead of files, with one builder per kind."""
