"""What `make coverage` prints: the share of lines that the tests reach, and the files below 80%."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import coverage

ENOUGH = 80.0


def main() -> None:
    data = coverage.Coverage()
    data.load()
    with tempfile.TemporaryDirectory() as folder:
        data.json_report(outfile=f"{folder}/report.json")
        found = json.loads(Path(folder, "report.json").read_text("utf-8"))
    for name, file in sorted(found["files"].items()):
        if file["summary"]["percent_covered"] < ENOUGH:
            print(f"{file['summary']['percent_covered']:6.1f}%  {name}")
    print(f"{found['totals']['percent_covered']:6.1f}%  of all lines are reached by the tests")


if __name__ == "__main__":
    main()
