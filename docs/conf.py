# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx. `make docs` stages the pages (tools/website) and builds them, without a network."""

import importlib.util
import json
from pathlib import Path

import dltensor

project = "dltensor"
author = "The dltensor developers"
copyright = author
version = release = dltensor.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc"]
exclude_patterns = ["repository"]
root_doc = "index"
language = "en"

# MyST: anchors of headings as GitHub makes them, so that one link works in both places.
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin with a deeper heading, as CHANGELOG.md's sections do

# The reference: one page for each name, written by tools/website/reference.py.
autodoc_docstring_signature = True
autodoc_typehints = "none"
# What dltensor.distributed adapts to; its pages need the docstrings only.
autodoc_mock_imports = [name for name in ("dask", "mpi4py") if importlib.util.find_spec(name) is None]
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"dltensor {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_extra_path = ["extra"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "dltensor"},
    "navbar_align": "left",
    "collapse_navigation": True,
    "navigation_depth": 2,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 7,
    "search_as_you_type": True,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "search": [], "reference/*.*": ["names.html"], "reference/dltensor": ["sidebar-nav-bs"]}
templates_path = ["_templates"]


def add_names(app, page, template, context, tree):
    """Give a page of the reference the names of its group, for the template names.html."""
    groups = json.loads((Path(app.srcdir) / "reference" / "groups.json").read_text())
    name = page.removeprefix("reference/")
    context["names_home"], context["names_beside"] = groups.get(name, (name, []))


def without_marker(app, what, name, thing, options, signature, returns):
    """Remove the marker of positional parameters that stands first once Sphinx has removed self."""
    return signature and signature.replace("(/, ", "(").replace("(/)", "()"), returns


def setup(app):
    app.connect("autodoc-process-signature", without_marker)
    app.connect("html-page-context", add_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
