"""What every page of ours must be, asked of a browser: readable, without loose ends, nothing from elsewhere."""

from __future__ import annotations

from typing import Any

from support.chromium import Chromium

_CONTRAST = """
(() => {
  const channels = colour => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return colour.startsWith("color(") ? found.slice(0, 3).map(one => 255 * one).concat(found.slice(3)) : found;
  };
  const opaque = colour => colour !== "none" && (channels(colour)[3] ?? 1) > 0.5;
  const luminance = colour => {
    const [r, g, b] = channels(colour).map(one => one / 255).map(one =>
      one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (opaque(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const area = element => {
    element.scrollIntoView({block: "center", inline: "center"});
    const box = element.getBoundingClientRect();
    const below = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    for (const one of below) {
      if (!(one instanceof SVGElement)) break;
      const style = getComputedStyle(one);
      if (!["text", "tspan", "svg", "g"].includes(one.localName) && style.fill !== "none"
          && opaque(style.fill) && style.fillOpacity > 0.5) return style.fill.startsWith("url") ? null : style.fill;
    }
    return paper(element);
  };
  document.querySelectorAll("details").forEach(one => { one.open = true; });
  const poor = [];
  let seen = 0;
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const element = node.parentElement;
    const drawn = element instanceof SVGElement;
    if (!node.textContent.trim() || (drawn && !["text", "tspan"].includes(element.localName))) continue;
    const style = getComputedStyle(element);
    const ink = drawn ? style.fill : style.color, ground = drawn ? area(element) : paper(element);
    if (ground === null) continue;
    seen += 1;
    const [one, two] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (two + 0.05);
    if (contrast < 4.5) poor.push([node.textContent.trim().slice(0, 40), ink, ground, contrast.toFixed(2)]);
  }
  scrollTo(0, 0);
  return {seen, poor};
})()
"""
_TOO_WIDE = """
(() => {
  const page = document.documentElement;
  const out = [...document.querySelectorAll("main *")].filter(one => !one.closest(".scroll, .picture")
    && one.getBoundingClientRect().right > page.clientWidth + 0.5);
  return [page.scrollWidth, page.clientWidth, out.map(one => one.tagName + ": " + one.textContent.slice(0, 40))];
})()
"""
_STRUCTURE = """
(() => {
  const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
  const all = selector => [...document.querySelectorAll(selector)];
  return {
    repeated: ids.filter((one, place) => ids.indexOf(one) !== place),
    lost: all('a[href^="#"]').map(one => one.getAttribute("href"))
      .filter(one => !document.getElementById(one.slice(1))),
    unused: all("use").map(one => one.getAttribute("xlink:href") || one.getAttribute("href"))
      .filter(one => !document.getElementById(one.slice(1))),
    away: all("a:not([href^='#']), script, link, img, iframe, object, form, base")
      .map(one => one.outerHTML.slice(0, 80)),
    silent: all("figure, svg").filter(one => {
      const role = one.localName === "figure" ? one.querySelector("[role=img], figcaption")
        : one.closest("[role=img]");
      return !role || !(role.getAttribute("aria-label") || role.textContent).trim();
    }).length,
    levels: all("h1, h2, h3, h4").map(one => Number(one.localName[1])),
    unscoped: all("th:not([scope])").length,
    unnamed: all("table").filter(one => !one.caption || !one.caption.textContent.trim()).length,
    language: document.documentElement.lang,
    title: document.title,
    figures: all("figure").length,
  };
})()
"""


def poor_contrasts(browser: Chromium) -> list[Any]:
    """Return every text with less than 4.5 : 1 between it and what is behind it, by the styles that hold."""
    found = browser.value(_CONTRAST)
    assert found["seen"] > 20
    poor: list[Any] = found["poor"]
    return poor


def too_wide(browser: Chromium) -> list[str]:
    """Return what stands out of the page to the right, which then could be moved sideways."""
    width, seen, out = browser.value(_TOO_WIDE)
    return [*out, *([f"{width} in {seen}"] if width > seen else [])]


def assert_well_formed(browser: Chromium) -> dict[str, Any]:
    """Check names, links, headings, alternative texts and tables; return what was found."""
    found: dict[str, Any] = browser.value(_STRUCTURE)
    assert not found["repeated"]
    assert not found["lost"]
    assert not found["unused"]
    assert not found["away"]
    assert not found["silent"]
    assert not found["unscoped"]
    assert not found["unnamed"]
    assert found["levels"][0] == 1
    assert found["levels"].count(1) == 1
    assert all(below <= above + 1 for above, below in zip(found["levels"], found["levels"][1:], strict=False))
    assert found["language"] == "en"
    return found
