"""The report's page in a headless Chromium, used by keyboard, with a client's hostile texts in it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.upgrade_oracle.real_broker import ready_made
from tests.report.conftest import HOSTILE, tables
from tests.report.tables_on_disk import of_many

from .browsing import CHROMIUM, Watched, chromium

pytestmark = pytest.mark.browser
AXE = "4.14.1"
CLIENTS = sum(row["role"] == "client" for row in tables()["connections"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="pip install 'kafka-clientinfo[browser]'")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}; install Chromium, or name one in CHROMIUM")
    with chromium() as started:
        yield started


@pytest.fixture
def watched(browser: Any, hostile_page: Path) -> Iterator[Watched]:
    """The page; whatever a test does with it, nothing complains, and nothing is asked for."""
    watched = Watched(browser, hostile_page)
    yield watched
    assert watched.complaints == []
    assert watched.requests == []
    assert watched.page.title() == "Kafka clients"
    watched.page.close()


def rows(page: Any, table: str) -> list[str]:
    """The rows of a table, with tabs between the cells, as they are shown side by side or one below the other."""
    of_row = "rows => rows.map(row => [...row.children].map(cell => cell.innerText).join('\\t'))"
    found: list[str] = page.locator(f"#{table}-table tbody tr").evaluate_all(of_row)
    return found


def search(page: Any, table: str, text: str) -> None:
    page.locator(f'[data-table="{table}"] input[type=search]').focus()
    page.keyboard.type(text)


def status(page: Any, table: str) -> str:
    return page.locator(f'[data-table="{table}"] .status').inner_text()


def test_all_tables_are_there(watched: Watched) -> None:
    data = json.loads(watched.page.locator("#data").text_content())
    for name in data["tables"]:
        assert watched.page.locator(f"#{name}-table caption").count() == 1
        assert watched.page.locator(f"#{name}-table thead th[scope=col][aria-sort]").count() > 0
    assert status(watched.page, "clients") == f"1 to 25 of {CLIENTS} rows"


def test_the_search_finds_by_any_column(watched: Watched) -> None:
    search(watched.page, "clients", "APP-17")
    assert len(rows(watched.page, "clients")) == 1
    assert status(watched.page, "clients") == f"1 row, {CLIENTS} in all"
    watched.page.keyboard.press("Control+a")
    watched.page.keyboard.type("nothing like this")
    assert rows(watched.page, "clients") == ["No row fits."]


def test_a_header_sorts_by_keyboard(watched: Watched) -> None:
    head = watched.page.locator("#clients-table thead th", has_text="Requests")
    head.locator("button").focus()
    seen = []
    for _ in range(2):
        watched.page.keyboard.press("Enter")
        seen.append((head.get_attribute("aria-sort"), int(rows(watched.page, "clients")[0].split("\t")[6])))
    assert seen == [("descending", 105), ("ascending", 1)]
    assert watched.page.locator("#clients-table thead th:not([aria-sort=none])").count() == 1


def test_a_filter_chooses_by_keyboard(watched: Watched) -> None:
    select = watched.page.locator('[data-table="clients"] select').first
    select.focus()
    watched.page.keyboard.type("fine")
    assert select.input_value() == "fine"
    assert all("\tfine\t" in row for row in rows(watched.page, "clients"))


def test_pages_turn_by_keyboard(watched: Watched) -> None:
    watched.page.locator('[data-table="clients"] .pages button', has_text="Next").focus()
    watched.page.keyboard.press("Enter")
    assert status(watched.page, "clients") == f"26 to 50 of {CLIENTS} rows"


def test_the_theme_switches_by_keyboard(watched: Watched) -> None:
    def colours() -> str:
        return watched.page.evaluate(
            "getComputedStyle(document.body).backgroundColor + getComputedStyle(document.querySelector('.plot text')).fill"
        )

    button = watched.page.get_by_role("button", name="Dark theme")
    assert button.get_attribute("aria-pressed") == "false"
    light = colours()
    button.focus()
    watched.page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    assert colours() != light
    watched.page.keyboard.press("Space")
    assert colours() == light


def test_a_dark_system_has_a_dark_page(browser: Any, hostile_page: Path) -> None:
    page = Watched(browser, hostile_page, color_scheme="dark").page
    assert page.get_by_role("button", name="Dark theme").get_attribute("aria-pressed") == "true"
    red, *_ = map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor")))
    assert red < 64
    page.close()


def test_a_client_of_the_verdict_leads_to_its_details(watched: Watched) -> None:
    search(watched.page, "who_breaks", "app-33")
    link = watched.page.locator("#who_breaks-table tbody a").first
    link.focus()
    watched.page.keyboard.press("Enter")
    details = watched.page.locator("details.client[open]")
    details.get_by_text("When connected", exact=True).wait_for()
    assert details.count() == 1
    assert details.locator("summary").inner_text().startswith("app-33")
    assert watched.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    text = details.inner_text()
    assert "10.0.0.49" in text
    assert "FETCH v3" in text


def test_the_first_key_reaches_the_report(watched: Watched) -> None:
    watched.page.keyboard.press("Tab")
    assert watched.page.evaluate("document.activeElement.className") == "skip"
    watched.page.keyboard.press("Enter")
    assert watched.page.evaluate("document.activeElement.id") == "main"


def test_focus_can_be_seen(watched: Watched) -> None:
    for _ in range(40):
        watched.page.keyboard.press("Tab")
        style = watched.page.evaluate(
            "(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle + ' ' + s.outlineWidth; })()"
        )
        assert style.startswith(("solid 2px", "auto")), watched.page.evaluate(
            "document.activeElement.outerHTML.slice(0, 200)"
        )


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_text_stays_text(watched: Watched, number: int) -> None:
    page = watched.page
    search(page, "clients", f"10.0.0.{number}")
    place = page.locator("#clients-table tbody th").all_inner_texts()
    assert place
    for summary in page.locator("details.client summary").all():
        summary.press("Enter")
    page.wait_for_timeout(50)
    assert page.locator("main script, main img, main iframe, main object").count() == 0
    assert page.evaluate("document.querySelectorAll('[onerror],[onload],[onclick],[style]').length") == 0
    shown = page.locator("#clients-table").inner_text()
    assert len(max(shown.split(), key=len)) <= 240
    if number < 3:
        assert HOSTILE[number] in shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Any, hostile_page: Path, scheme: str) -> None:
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", "{}", f"axe-core@{AXE}"]
    axe = ready_made(f"axe-core-{AXE}", install) / "node_modules" / "axe-core" / "axe.min.js"
    page = Watched(browser, hostile_page, color_scheme=scheme).page
    page.evaluate("document.querySelectorAll('details').forEach((details, n) => { if (n < 6) details.open = true; })")
    page.wait_for_timeout(200)
    page.evaluate(axe.read_text("utf-8"))
    found = page.evaluate("axe.run()")
    serious = [
        (violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical", "moderate")
    ]
    assert serious == []
    assert len(found["passes"]) > 20
    page.close()


WIDER = """() => [document.documentElement, ...document.querySelectorAll(".scroll, .plot")]
    .filter(box => box.scrollWidth > box.clientWidth).map(box => box.textContent.slice(0, 40))"""


@pytest.mark.parametrize("width", [400, 800, 1280, 1920])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_the_window(browser: Any, hostile_page: Path, width: int, theme: str) -> None:
    page = Watched(browser, hostile_page, viewport={"width": width, "height": 800}, color_scheme=theme).page
    assert page.evaluate(WIDER) == []
    for details in page.locator("details:not([open]) > summary").all()[:10]:
        details.click()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")  # tables fit after layout
    assert page.evaluate(WIDER) == []
    page.close()


def test_a_table_that_does_not_fit_has_labels_beside_its_values(browser: Any, hostile_page: Path) -> None:
    page = Watched(browser, hostile_page, viewport={"width": 400, "height": 800}).page
    table = page.locator("#clients-table")
    assert table.get_attribute("class") == "stacked"
    cell = table.locator("tbody tr").first.locator("td").first
    assert cell.get_attribute("data-label") == table.locator("thead th").nth(1).inner_text()
    page.set_viewport_size({"width": 4000, "height": 800})
    page.wait_for_function("!document.querySelector('#clients-table').classList.contains('stacked')")
    page.close()


def test_it_prints(watched: Watched, tmp_path: Path) -> None:
    printed = tmp_path / "report.pdf"
    watched.page.pdf(path=printed)
    assert printed.read_bytes().startswith(b"%PDF-")
    assert status(watched.page, "clients") == f"1 to 25 of {CLIENTS} rows"


def test_without_its_script_the_verdict_stands(browser: Any, hostile_page: Path) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(hostile_page.as_uri())
    assert "clients would break" in page.locator("h1").inner_text()
    assert "script does not run here" in page.locator("main").inner_text()
    assert "would break" in page.locator('[data-table="who_breaks"] tbody tr').first.inner_text()
    assert page.locator("figure svg[role=img][aria-label]").count() > 3


def test_a_page_of_many_clients_can_be_used(browser: Any, tmp_path: Path) -> None:
    from kafka_clientinfo import cli

    output = tmp_path / "r.html"
    assert (
        cli.main(["report", "--warehouse", str(of_many(tmp_path / "w", 60_000, 6_000)), "--output", str(output)]) == 0
    )
    assert output.stat().st_size < 10_000_000
    watched = Watched(browser, output)
    assert status(watched.page, "clients") == "1 to 25 of 5,000 rows"
    assert "1,000 of 6,000 clients are left out here" in watched.page.locator("#who_connects").inner_text()
    search(watched.page, "clients", "service-5")
    assert "5,000 in all" in status(watched.page, "clients")
    assert watched.complaints + watched.requests == []
    watched.page.close()
