"""PodSecurity: checks pods against the pod security standard of their namespace."""
