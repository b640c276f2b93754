"""What setuptools cannot read from pyproject.toml: the modules that are compiled."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).resolve().parent / "building"))

from fairlead_build import BuildExtensions, BuildModules, extensions

setup(
    ext_modules=extensions(sys.argv),
    cmdclass={"build_ext": BuildExtensions, "build_py": BuildModules},
)
