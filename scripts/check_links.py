"""Check that every link within a built site leads somewhere: files, anchors, pictures and frames.

python scripts/check_links.py build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "img": "src", "iframe": "src", "link": "href", "script": "src"}


class Page(HTMLParser):
    """The addresses that a page asks for, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect from an opening tag."""
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if LINKS.get(tag) in values:
            self.links.add(values[LINKS[tag]])
        self.links |= {part.split()[0] for part in values.get("srcset", "").split(",") if part}


def find_broken_links(site: Path) -> list[str]:
    """Each link that leads nowhere, with the page that it stands on."""
    files = (path for path in site.rglob("*.html") if not path.name.startswith("webpack-"))
    pages = {path: Page(path) for path in files}  # but the theme's own template
    broken = []
    for path, page in pages.items():
        for link in sorted(page.links):
            address = urlsplit(link)
            if address.scheme or address.netloc:
                continue
            target = path if not address.path else (path.parent / unquote(address.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(address.fragment)
            lost = (
                anchor
                and "=" not in anchor
                and target in pages
                and anchor not in pages[target].anchors
            )
            if not target.exists() or not target.is_relative_to(site) or lost:
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    broken = find_broken_links(site)
    if broken:
        sys.exit("\n".join([f"{len(broken)} links lead nowhere:", *broken]))
    print(f"Every link within {site} leads somewhere.")


if __name__ == "__main__":
    main()
