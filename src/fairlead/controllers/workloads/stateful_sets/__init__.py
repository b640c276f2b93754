"""StatefulSet: pods with an ordinal, a stable name and their own claims."""
