"""Copies of a whole store: into a file, out of one, and from one storage into another."""

PATH = "/fairlead/v1/backup"  # where a running server gives one
MEDIA_TYPE = "application/vnd.fairlead.process.backup"

# Where a restore that was cut off leaves its marks.
UNFINISHED = "fairlead/restore"
