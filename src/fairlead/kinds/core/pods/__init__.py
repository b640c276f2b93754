"""Pods, and whatever carries a pod spec."""
