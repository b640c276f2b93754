"""Node health: detects lost nodes, taints them and evicts their pods."""
