"""Who manages which fields of an object."""
