"""``make stress``: every attack, in a process of its own, and a table of what was lost.

python -m stress --seed 7 [--scale 0.1]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

ATTACKS = {
    "fuzz": ("--inputs", 10_000, True),
    "kills": ("--kills", 1000, True),
    "disk": ("--calls", 40, False),
    "races": ("--seconds", 180, True),
    "power": ("--images", 1000, True),
    "long_run": ("--runs", 1000, False),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--scale", type=float, default=1.0, help="less than 1 for a quick look")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    failed = []
    for name, (option, size, seeded) in ATTACKS.items():
        print(f"== {name}", flush=True)
        line = [sys.executable, "-m", f"stress.{name}", option, str(max(int(size * args.scale), 1))]
        line += ["--seed", str(args.seed)] if seeded else []
        begin = time.monotonic()
        if subprocess.run(line, check=False).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - begin:.0f} seconds", flush=True)
    print(f"lost something: {', '.join(failed)}" if failed else "nothing was lost")
    return bool(failed)


if __name__ == "__main__":
    raise SystemExit(main())
