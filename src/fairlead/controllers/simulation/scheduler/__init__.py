"""The scheduler for simulated nodes: filters, scores, preemption and the queue."""
