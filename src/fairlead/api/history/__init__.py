"""Past versions of objects, their authors, and denied requests."""

KIND, API_VERSION = "History", "fairlead/v1"
