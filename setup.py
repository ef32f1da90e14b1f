"""Tests and a search in C, beside what pyproject.toml says. Without a compiler they are left out,
and Python does the same (src/privet/independence/compiled.py, src/privet/search/compiled.py). One
wheel of a platform serves every Python."""

from pathlib import Path

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"privet.{room}.{name}",
            [f"src/privet/{room}/{name}.c"],
            depends=[str(path) for path in Path("src/privet", room).glob("*.h")],
            optional=True,
            py_limited_api=True,
            extra_compile_args=["-O3"],  # loops of fixed length are unrolled
        )
        for room, name in (("independence", "_tests"), ("search", "_climb"))
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
