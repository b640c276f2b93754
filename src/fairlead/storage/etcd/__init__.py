"""etcd v3 as a store that several servers share."""
