"""The past of objects: what the server still knows of it, who did it, and what was refused."""

KIND, API_VERSION = "History", "fairlead/v1"
