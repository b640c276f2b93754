"""API priority and fairness: priority levels with their queues and seats limit concurrent
requests."""
