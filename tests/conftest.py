"""What holds for all tests: they depend neither on the speed of the machine nor on its load."""

from __future__ import annotations

import os

from hypothesis import settings

# Before any test loads numpy, here and in the processes that tests start: pytest-xdist uses all
# cores already, and threads of linear algebra that wait for each other do small matrices much more
# slowly than one.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
for name in THREADS:
    os.environ.setdefault(name, "1")

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
