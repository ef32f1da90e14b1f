"""``python docs/site/screenshots.py FOLDER``: what a person sees, as pictures to look at.

The page of a demo by day and by night, a notebook, and a terminal of 80 columns; in Chromium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "tutorials" / "survey.py"
WIDTH, TALLEST = 1200, 6000
COLUMNS = 80


@contextmanager
def chromium() -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(each)
    driver = Chrome(options=options, service=ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def shoot(
    driver: Any, page: Path, picture: Path, *, dark: bool = False, width: int = WIDTH
) -> None:
    """The whole page, down to its end."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.set_window_size(width, 800)
    driver.get(page.resolve().as_uri())
    height = driver.execute_script("return document.documentElement.scrollHeight")
    size = {"width": width, "height": min(height, TALLEST), "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.save_screenshot(str(picture))
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def printed(*command: str, folder: Path) -> str:
    """What a command prints on a terminal in colour."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def terminal(text: str, page: Path) -> None:
    """A page that shows the text as a terminal does."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text.from_ansi(text))
    page.write_text(console.export_html(), encoding="utf-8")


def main(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    privet = (sys.executable, "-m", "privet")
    terminal(printed(*privet, "demo", folder=folder), folder / "terminal.html")
    jupyter = (sys.executable, "-m")
    notebook = str((folder / "notebook.ipynb").resolve())
    printed(*jupyter, "jupytext", "--to", "ipynb", "-o", notebook, str(NOTEBOOK), folder=folder)
    printed(*jupyter, "nbconvert", "--execute", "--to", "html", notebook, folder=folder)
    page = folder / "demo" / "out" / "report.html"
    with chromium() as driver:
        shoot(driver, page, folder / "page.png")
        shoot(driver, page, folder / "page-dark.png", dark=True)
        shoot(driver, folder / "notebook.html", folder / "notebook.png")
        shoot(driver, folder / "terminal.html", folder / "terminal.png", width=800)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
