"""What is in C, beside what pyproject.toml says. Without a compiler it is left out, and Python does
the same: ``compiled.py`` in its room says so. One wheel of a platform serves every Python."""

from pathlib import Path
from sysconfig import get_config_var

from setuptools import Extension, setup

IN_C = (
    "evidence/_calm",
    "independence/_counted",
    "independence/_tests",
    "privacy/engines/_counts",
    "privacy/queries/_moments",
    "privacy/queries/_white",
    "scores/_gains",
    "search/_climb",
    "search/_orient",
    "search/_pc",
    "search/_refine",
    "search/_rounds",
)
# Pythons without a global lock have no API that serves them all: there, nothing is in C.
ONE_FOR_ALL = not get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            f"privet.{path.replace('/', '.')}",
            [f"src/privet/{path}.c"],
            depends=[str(header) for header in Path("src/privet", path).parent.glob("*.h")],
            optional=True,
            py_limited_api=True,
            # loops of fixed length are unrolled; as in arrays, products are rounded, then added
            extra_compile_args=["-O3", "-ffp-contract=off"],
        )
        for path in IN_C
        if ONE_FOR_ALL
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ONE_FOR_ALL else {},
)
