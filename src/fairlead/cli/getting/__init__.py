"""The parts of `fairlead get`: what is asked for, and how it is shown and followed."""
