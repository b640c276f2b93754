"""The controller of CustomResourceDefinitions."""
