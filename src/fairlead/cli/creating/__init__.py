"""Objects made from flags instead of files, one builder a kind."""
