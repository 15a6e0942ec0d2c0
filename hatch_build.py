"""Metadata of a release that depend on where it is published.

The workflow that publishes sets ``DECIBAN_REPOSITORY``, such as https://github.com/owner/deciban.
The README's links and pictures then lead to the tag of the release in that repository, since a
package index has no other files; without it they stay as they are.
"""

import os
import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r'(?P<before>\]\(|src=")(?P<path>(?![a-z]+:|#)[^)"]+)')


def with_absolute_links(readme, repository, tag):
    """The README with links to files of the repository, and pictures as they are at the tag."""

    def lengthen(match):
        kind = "raw" if match["before"].startswith("src") else "blob"
        return f"{match['before']}{repository}/{kind}/{tag}/{match['path']}"

    return _LINK.sub(lengthen, readme)


class Publication(MetadataHookInterface):
    """The README, and the addresses of the project."""

    def update(self, metadata):
        """Add both to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("DECIBAN_REPOSITORY", "").rstrip("/")
        metadata["urls"] = {}
        if repository:
            source = (Path(self.root) / "src/deciban/__init__.py").read_text(encoding="utf-8")
            version = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)[1]
            text = with_absolute_links(text, repository, f"v{version}")
            metadata["urls"] = {
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
