"""`simulate` commands."""
