"""The commands of the group `top`."""
