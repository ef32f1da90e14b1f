"""What is in C, beside what pyproject.toml says. Without a compiler it is left out, and Python does
the same: ``compiled.py`` in its room says so. One wheel of a platform serves every Python."""

from pathlib import Path

from setuptools import Extension, setup

IN_C = (
    "independence/_tests",
    "privacy/engines/_counts",
    "scores/_gains",
    "search/_climb",
    "search/_refine",
)

setup(
    ext_modules=[
        Extension(
            f"privet.{path.replace('/', '.')}",
            [f"src/privet/{path}.c"],
            depends=[str(header) for header in Path("src/privet", path).parent.glob("*.h")],
            optional=True,
            py_limited_api=True,
            # fixed loops are unrolled; products are rounded before they are added, as in arrays
            extra_compile_args=["-O3", "-ffp-contract=off"],
        )
        for path in IN_C
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
