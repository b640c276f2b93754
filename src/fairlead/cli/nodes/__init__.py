"""The nodes of `cordon`, `uncordon`, `drain` and `taint`; the pods that a drain removes."""
