"""Persistent volumes: binding, provisioning by others, reclaiming, growing, claims of pods."""
