"""HorizontalPodAutoscaler: as many replicas as are allowed."""
