"""``python -m privet`` is ``privet``."""

from __future__ import annotations

import sys

from privet.cli.main import main

sys.exit(main())
