"""PodDisruptionBudgets: how many pods may be away just now."""
