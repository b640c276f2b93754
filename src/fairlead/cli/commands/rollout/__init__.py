"""Commands about rollouts of workloads."""
