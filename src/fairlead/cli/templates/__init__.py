"""Pod templates of objects, and patches of them, for the commands of `set`."""
