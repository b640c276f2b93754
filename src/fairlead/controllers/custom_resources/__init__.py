"""Custom resources: definitions become served resources, and are looked after."""
