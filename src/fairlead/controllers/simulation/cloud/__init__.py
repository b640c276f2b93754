"""What a cloud provider does around simulated nodes.

`load_balancers` and `ingresses` give addresses of `addresses` to Services and Ingresses.
`default_class` creates the default StorageClass, `provisioner` creates and deletes its volumes,
`volume_changes` expands and modifies them.
"""
