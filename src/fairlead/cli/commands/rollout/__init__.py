"""How the pods of workloads are replaced."""
