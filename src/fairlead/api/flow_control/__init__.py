"""Who has to wait when many ask at once: priority levels, their queues and seats."""
