"""StatefulSet: pods that have an ordinal, a name and claims of their own."""
