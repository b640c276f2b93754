"""A store that several servers share: etcd v3."""
