"""The versions of an object that a server still knows."""
