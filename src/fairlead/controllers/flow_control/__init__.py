"""Flow schemas and priority levels: maintains the default objects and their status."""
