"""Put a built site among its other versions: a folder for each, a list of them, and a front door.

    python scripts/place_docs.py build/site published 0.1 https://owner.github.io/deciban

The folder of the version is replaced whole, others stay. The front door leads to the newest
release, or to `dev` while there is none.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

DOOR = """<!doctype html>
<meta charset="utf-8">
<title>deciban</title>
<meta http-equiv="refresh" content="0; url={version}/">
<a href="{version}/">The documentation of deciban</a>
"""


def sort_key(version: str) -> tuple[int, ...]:
    """Releases by their numbers; dev is older than all, so that a release is preferred."""
    return () if version == "dev" else tuple(int(part) for part in version.split("."))


def place_version(site: Path, published: Path, version: str, address: str) -> None:
    sort_key(version)  # a name that is not a version is refused before anything is written
    published.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(published / version, ignore_errors=True)
    shutil.copytree(site, published / version)
    found = [path.parent.name for path in published.glob("*/index.html")]
    found = [name for name in found if name == "dev" or name.replace(".", "").isdigit()]
    versions = sorted(found, key=sort_key, reverse=True)
    newest = versions[0]
    entries = [
        {"version": one, "url": f"{address.rstrip('/')}/{one}/", "preferred": one == newest}
        for one in versions
    ]
    (published / "versions.json").write_text(json.dumps(entries, indent=1) + "\n")
    (published / "index.html").write_text(DOOR.format(version=newest))
    (published / ".nojekyll").touch()  # GitHub would leave folders such as _static out


def main() -> None:
    site, published, version, address = sys.argv[1:]
    place_version(Path(site), Path(published), version, address)
    print(f"{site} is version {version} in {published}")


if __name__ == "__main__":
    main()
