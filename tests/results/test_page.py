"""The page of a report as a person meets it: in a browser, without network, by mouse and keyboard.

It needs Chromium and its driver; a machine without them skips what must be seen in a browser.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privet
from privet.graph.edge import Edge
from privet.results.discovery import Discovery
from privet.results.report.graph import report
from privet.schema.column import Column
from privet.schema.model import Schema

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
seen = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs chromium and chromedriver")
NAMES = ("age", "smoker", "cough <b>", "town", "job")


def binary(name: str) -> Column:
    return Column(name=name, kind="categorical", levels=("no", "yes"))


@pytest.fixture(scope="module")
def found() -> Discovery:
    """Five columns, of which the first four are a chain; edges get confidences that tell them
    apart."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(2, size=4000)]
    for _ in range(3):
        columns.append(np.where(rng.random(4000) < 0.8, columns[-1], 1 - columns[-1]))
    columns.append(rng.integers(2, size=4000))
    table = {n: np.array(["no", "yes"])[c].tolist() for n, c in zip(NAMES, columns, strict=True)}
    schema = Schema(name="clinic", columns=tuple(map(binary, NAMES)))
    out = privet.discover(table, schema, private=False)
    edges = [replace(e, confidence=0.2 + 0.3 * i) for i, e in enumerate(out.graph.edges)]
    edges[2] = replace(edges[2], mark="-->", arrow_confidence=0.6)
    graph = replace(out.graph, kind="mpdag", edges=tuple(edges), undecided=((NAMES[0], NAMES[4]),))
    return replace(out, graph=graph)


def test_without_script_everything_is_there(found: Discovery) -> None:
    text = re.sub("<script>.*</script>", "", report(found), flags=re.DOTALL)
    assert "<script" not in text
    for edge in found.graph.edges:
        assert f"The confidence of the edge is {edge.confidence:.2f}" in text
        assert found.explain(edge.source, edge.target).text.split(".")[0] in unescaped(text)
    for shown in ("How to cite", "NOT PRIVATE", "Find a column", "undecided"):
        assert shown in text


def test_the_policy_allows_the_script_of_the_page_alone(found: Discovery) -> None:
    text = report(found)
    [policy] = re.findall('Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy
    assert "cough <b>" not in text and not re.search('(src|href)="', text)


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from selenium.webdriver import Chrome, ChromeOptions, ChromeService

    options = ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1000"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, found: Discovery, tmp_path: Path) -> Any:
    path = tmp_path / "report.html"
    path.write_text(report(found), encoding="utf-8")
    browser.get(path.as_uri())
    return browser


def css(page: Any, selector: str) -> list[Any]:
    elements: list[Any] = page.find_elements("css selector", selector)
    return elements


@seen
def test_it_opens_without_errors_or_requests(page: Any) -> None:
    assert page.get_log("browser") == []
    asked = [line["message"] for line in page.get_log("performance")]
    sent = re.findall(r'Network.requestWillBeSent".*?"url":"([^"]*)', "\n".join(asked))
    assert sent and all(url.startswith("file://") and url.endswith("report.html") for url in sent)
    assert css(page, ".controls")[0].is_displayed()


@seen
def test_a_click_shows_the_edge(page: Any, found: Discovery) -> None:
    from selenium.webdriver import ActionChains

    edge = found.graph.edges[1]
    line = css(page, ".edge .reach")[1]
    # the middle of the line, which is not that of its box if it bends
    where = page.execute_script(
        "const p = arguments[0], m = p.getPointAtLength(p.getTotalLength() / 3)"
        ".matrixTransform(p.getScreenCTM()); return [m.x, m.y]",
        line,
    )
    ActionChains(page).move_by_offset(*where).click().perform()
    ActionChains(page).move_by_offset(*(-at for at in where)).perform()
    shown = css(page, ".told")[0].text
    assert f"{edge.source} {edge.mark} {edge.target}" in shown
    assert found.explain(edge.source, edge.target).text in shown
    assert "chosen" in css(page, ".edge")[1].get_attribute("class")


@seen
def test_the_slider_hides_edges(page: Any, found: Discovery) -> None:
    page.execute_script(
        "const s = document.querySelector('[type=range]'); s.value = 0.4;"
        "s.dispatchEvent(new Event('input'))"
    )
    left = [(edge.confidence or 0) >= 0.4 for edge in found.graph.edges]
    assert 0 < sum(left) < len(left)
    assert [edge.is_displayed() for edge in css(page, ".edge")] == left
    rows = {int(r.get_attribute("data-edge")): r.is_displayed() for r in css(page, "tr[data-edge]")}
    assert [rows[i] for i in range(len(left))] == left
    assert f"{sum(left)} of {len(left)}" in css(page, "output")[0].text
    heads = "return getComputedStyle(document.querySelector('.edge polygon')).display"
    for value, shown, told in ((0.5, "inline", "1 of 1"), (0.7, "none", "0 of 1")):
        page.execute_script(
            "const s = document.querySelector('[name=arrow]'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            value,
        )
        assert page.execute_script(heads) == shown
        assert told in css(page, "output")[1].text


@seen
def test_tabbing_reaches_every_edge(page: Any, found: Discovery) -> None:
    from selenium.webdriver import ActionChains, Keys

    reached = set()
    for _ in range(20 + 2 * len(found.graph.edges)):
        ActionChains(page).send_keys(Keys.TAB).perform()
        element = page.switch_to.active_element
        if "edge" in (element.get_attribute("class") or "").split():
            reached.add(element.get_attribute("aria-label"))
            element.send_keys(Keys.ENTER)
            assert css(page, ".told")[0].text.split("\n")[0] in unescaped(
                element.get_attribute("aria-label")
            )
    assert len(reached) == len(found.graph.edges)


@seen
def test_search_zoom_undecided_and_sorting(page: Any, found: Discovery) -> None:
    from selenium.webdriver import Keys

    css(page, "[type=search]")[0].send_keys("smo" + Keys.ENTER)
    marked = ["found" in node.get_attribute("class") for node in css(page, ".node")]
    assert [name for name, here in zip(NAMES, marked, strict=True) if here] == ["smoker"]
    before = css(page, ".picture svg")[0].get_dom_attribute("viewBox")
    css(page, "[data-zoom=in]")[0].click()
    assert css(page, ".picture svg")[0].get_dom_attribute("viewBox") != before
    hidden = "return getComputedStyle(document.querySelector('.undecided').parentNode).display"
    assert page.execute_script(hidden) == "inline"
    css(page, "[type=checkbox]")[0].click()
    assert page.execute_script(hidden) == "none"
    heading = next(h for h in css(page, "th") if h.text.startswith("confidence"))
    for way in ("descending", "ascending"):
        heading.find_element("css selector", "button").click()
        assert heading.get_attribute("aria-sort") == way
        order = [int(row.get_attribute("data-edge")) for row in css(page, "tr[data-edge]")]
        shown = [found.graph.edges[at].confidence or 0.0 for at in order]
        assert shown == sorted(shown, reverse=way == "descending")


def test_an_edge_without_figures_is_told_as_well(found: Discovery) -> None:
    bare = replace(found.graph, edges=(Edge("age", "job", "<->"),), kind="pag", undecided=())
    assert "something unseen causes both" in report(replace(found, graph=bare))


DARK = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
FILLS = """return [...document.querySelectorAll('.picture .node, .picture .label')].map(
  each => ['rect', 'text'].map(part => getComputedStyle(each.querySelector(part)).fill))"""


def luminance(colour: str) -> float:
    """Of WCAG, from 0 (black) to 1 (white)."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4) for p in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@seen
@pytest.mark.parametrize("media", [{}, DARK], ids=["light", "dark"])
def test_names_and_numbers_stand_out_of_their_boxes(page: Any, media: dict[str, Any]) -> None:
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    shown = page.execute_script(FILLS)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {})
    assert len(shown) > len(NAMES)
    for box, name in shown:
        low, high = sorted(map(luminance, (box, name)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, f"{name} on {box}"
