"""Devices: claims of pods on them, and their allocation.

- `claims`: creates the claims of pods from templates, reserves and releases them
- `allocation`: chooses devices for the requests of claims, on one node; `constraints`: on the
  attributes of several devices; `results`: what is written into the status of a claim
- `pools`: the devices that drivers publish in slices; `usage`: those in use, and what requests
  consume of shared devices; `inventory`: both
- `taint_eviction`: evicts pods from devices that were tainted
- `readiness`: the conditions that must hold before a pod is bound
- `extended_resources`: extended resources that device classes stand for
"""
