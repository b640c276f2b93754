"""Controllers of workloads (Deployment, Job, ...) and their shared helpers."""
