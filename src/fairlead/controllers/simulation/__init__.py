"""Simulated nodes: pods are scheduled and go through their phases, but no container runs."""
