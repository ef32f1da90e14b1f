"""One thread for linear algebra: imported before numpy, which reads these when it is loaded.

The benchmarks run one process per core, and a second thread that waits in a spin counts as work.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
