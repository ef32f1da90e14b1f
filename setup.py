"""What is in C, beside what pyproject.toml says. Without a compiler it is left out, and arrays do
the same: ``compiled.py`` in its room says so. One wheel of a platform serves every Python."""

from setuptools import Extension, setup

IN_C = ("independence/_tests", "privacy/engines/_counts", "scores/_gains")

setup(
    ext_modules=[
        Extension(
            f"privet.{path.replace('/', '.')}",
            [f"src/privet/{path}.c"],
            optional=True,
            py_limited_api=True,
            extra_compile_args=["-O3"],  # loops of fixed length are unrolled
        )
        for path in IN_C
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
