"""First view of a large fleet in Chromium: from the address to 100 clusters drawn, of a real dashboard of a real API
server.

It needs Debian's Chromium and the built page (`make page`). Seconds are those of the page's own clock, from the start
of its navigation; beside them stands what the same browser needs for the page to sign in, which has no fleet.
Each page is that of a fresh profile, which has no session and nothing in its cache.
"""

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from playwright.async_api import Browser, async_playwright

from bench.dashboard import BINDINGS, CLUSTERS, fill
from bench.foresight import fleet_state
from bench.servers import leeward

ROUNDS = 7
START_SECONDS = 10
"""Seconds that a dashboard has before somebody looks: it lists the fleet meanwhile."""
CHROMIUM = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync")
DRAWN = """
    window.drawn = {};
    const look = () => {
        const tiles = document.querySelectorAll("[data-tile]").length;
        if (!drawn.page && document.querySelector("main h1")) drawn.page = performance.now();
        if (!drawn.fleet && tiles >= CLUSTERS) drawn.fleet = performance.now();
        if (!drawn.fleet) requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
""".replace("CLUSTERS", str(CLUSTERS))


def run() -> None:
    asyncio.run(_run())


async def _run() -> None:
    with TemporaryDirectory() as name:
        async with leeward(Path(name), "karmada") as target, async_playwright() as playwright:
            await fill(target, fleet_state(BINDINGS, CLUSTERS).recorded)
            config = target.kubeconfig(Path(name))
            chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
            async with _dashboard(config) as next_link:
                await _measure(chromium, next_link)
            await chromium.close()


async def _measure(chromium: Browser, next_link: Callable[[], Awaitable[str]]) -> None:
    """Looks after the lists were read, once as the first one, and then in turns with a page that has no fleet."""
    await asyncio.sleep(START_SECONDS)
    link = await next_link()
    first = await _look(chromium, link)
    seen, bare = list[Mapping[str, float]](), list[Mapping[str, float]]()
    for _ in range(ROUNDS):
        link = await next_link()
        seen.append(await _look(chromium, link))
        bare.append(await _look(chromium, link.partition("#")[0]))
    print(f"{BINDINGS} applications, {CLUSTERS} clusters; seconds from the address until drawn, and of the processor")
    print(f"  the first one who looks   {first['drawn']:.2f}  {first['processor']:.2f}")
    for title, rows in (("one more viewer, median  ", seen), ("the page that signs in   ", bare)):
        drawn, processor = (median(row[key] for row in rows) for key in ("drawn", "processor"))
        print(f"  {title} {drawn:.2f}  {processor:.2f}; drawn after {min(r['drawn'] for r in rows):.2f}", end=" to ")
        print(f"{max(row['drawn'] for row in rows):.2f}")


async def _look(chromium: Browser, address: str) -> Mapping[str, float]:
    """Seconds until the fleet is drawn, or the page that signs in; and those of the page's processor until then."""
    context = await chromium.new_context(viewport={"width": 1280, "height": 900})
    page = await context.new_page()
    await page.add_init_script(DRAWN)
    session: Any = await context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.goto(address)
    has_fleet = "#key=" in address
    await (page.locator("[data-tile]").nth(CLUSTERS - 1) if has_fleet else page.locator("main h1")).wait_for()
    drawn = await page.evaluate(f"window.drawn.{'fleet' if has_fleet else 'page'}")
    told = await session.send("Performance.getMetrics")
    processor = next(each["value"] for each in told["metrics"] if each["name"] == "TaskDuration")
    await context.close()
    return {"drawn": drawn / 1000, "processor": processor}


@asynccontextmanager
async def _dashboard(config: Path) -> AsyncGenerator[Callable[[], Awaitable[str]]]:
    """`leeward dashboard` of the server; gives the way to the next link, of which each signs in once."""
    command = [sys.executable, "-m", "leeward.cli", "dashboard", "--kubeconfig", str(config)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said = process.stdout
    assert said is not None

    async def next_link() -> str:
        while line := await said.readline():
            if found := re.search(r"http://\S+", line.decode()):
                return found.group()
        raise AssertionError("it has printed no link")

    try:
        yield next_link
    finally:
        process.terminate()
        await process.wait()
