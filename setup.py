"""Tests in C, beside what pyproject.toml says. Without a compiler they are left out, and arrays do
the same (src/privet/independence/compiled.py). One wheel of a platform serves every Python."""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "privet.independence._tests",
            ["src/privet/independence/_tests.c"],
            optional=True,
            py_limited_api=True,
            extra_compile_args=["-O3"],  # loops of fixed length are unrolled
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
