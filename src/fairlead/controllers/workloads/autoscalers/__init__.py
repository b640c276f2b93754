"""HorizontalPodAutoscaler: keeps the number of replicas within bounds."""
