"""Devices: claims of pods on them, and their allocation.

- `claims`: creates the claims of pods from templates, reserves and releases them
- `allocation`: chooses devices for the requests of a claim, on one node
- `pools`: the devices that drivers publish in slices, and those in use
"""
