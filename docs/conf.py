"""How Sphinx builds the site: `make docs`."""

import inspect
import os
import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path

import deciban

sys.path.insert(0, str(Path(__file__).parent / "_ext"))


def is_property(owner, name):
    """Whether a name of a class is a property; fields stand under its Attributes already."""
    module, _, owner = owner.rpartition(".")
    found = inspect.getattr_static(getattr(import_module(module), owner), name, None)
    return isinstance(found, property | cached_property)


project = "deciban"
author = "The deciban developers"
copyright = "2026, the deciban developers"
release = deciban.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas, too, need no network
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
    "myst_parser",
    "command_line",
    "glossary_page",
    "pictures",
]
exclude_patterns = ["_build", "_templates", "**/GALLERY_HEADER.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!deciban).*")]  # types of other libraries, in signatures
suppress_warnings = ["config.cache"]  # the gallery's configuration holds a function

# --- Markdown ---
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "html_image"]
myst_heading_anchors = 4

# --- reference ---
templates_path = ["_templates"]
autosummary_generate = True
autosummary_context = {"is_property": is_property}
autosummary_filename_map = {  # some file systems do not tell capitals apart
    "deciban.metrics.Idempotence": "deciban.metrics.Idempotence-class",
    "deciban.same_source.Pairs": "deciban.same_source.Pairs-class",
}
autodoc_typehints = "none"  # numpydoc's Parameters have them, with shapes
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_class_members_toctree = False
numpydoc_use_plots = False

# --- gallery ---
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "image_srcset": ["2x"],  # sharp on screens of high density
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "abort_on_example_error": True,
    "default_thumb_file": str(Path(__file__).parent / "images" / "report.png"),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("deciban",),
    "reference_url": {"deciban": None},
    "within_subsection_order": "FileNameSortKey",
}

# --- links to other projects, only where their inventories can be fetched ---
intersphinx_mapping = (
    {
        "numpy": ("https://numpy.org/doc/stable/", None),
        "scipy": ("https://docs.scipy.org/doc/scipy/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
        "matplotlib": ("https://matplotlib.org/stable/", None),
    }
    if os.environ.get("DECIBAN_DOCS_ONLINE")
    else {}
)

# --- pages ---
html_theme = "pydata_sphinx_theme"
html_title = "deciban"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_js_files = ["docs.js"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
_repository = os.environ.get("GITHUB_REPOSITORY")  # owner/name, where GitHub builds the site
_site = os.environ.get("DECIBAN_SITE", "").rstrip("/")  # its address, where it is published
_version = os.environ.get("DECIBAN_DOCS_VERSION", "dev")  # its folder there
html_baseurl = f"{_site}/{_version}/" if _site else ""
html_theme_options = {
    "logo": {
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "text": "deciban",
    },
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "github_url": f"https://github.com/{_repository}" if _repository else "",
} | (
    {
        "switcher": {"json_url": f"{_site}/versions.json", "version_match": _version},
        "check_switcher": False,
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
    if _site
    else {}
)
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "changelog": [], "paper/README": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# --- links are checked within the site; those to the outside where it can be reached ---
linkcheck_ignore = [] if os.environ.get("DECIBAN_DOCS_ONLINE") else [r"https?://.*"]
