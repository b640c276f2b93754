"""The programs of the image agnhost, by which tests look at what containers get and talk to each
other. They do what the documentation of the image says."""
