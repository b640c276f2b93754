"""Kinds of the resource group: devices, and claims on them.

- `selectors`: the expressions that select devices
- `requests`: rules of what claims and classes request
- `claims`: ResourceClaim, ResourceClaimTemplate and DeviceClass; `claim_status`: allocations
- `status_permissions`: who may change which part of the status of a claim
- `slices`: ResourceSlice, the devices of a driver
- `columns`: their columns
"""

BEHAVIOURS: dict[str, str] = {
    "resource/v1/deviceclasses": "claims.DeviceClassBehaviour",
    "resource/v1/resourceclaims": "claims.ResourceClaimBehaviour",
    "resource/v1/resourceclaimtemplates": "claims.ResourceClaimTemplateBehaviour",
    "resource/v1/resourceslices": "slices.ResourceSliceBehaviour",
}
