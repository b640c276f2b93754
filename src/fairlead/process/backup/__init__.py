"""Copies of a whole store: to a file, from a file, and from one storage to another."""

PATH = "/fairlead/v1/backup"  # of a running server
MEDIA_TYPE = "application/vnd.fairlead.backup"

# Marks of an unfinished restore are stored below this name.
UNFINISHED = "fairlead/restore"
