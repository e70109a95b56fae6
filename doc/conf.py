"""How the documentation is built: `sphinx-build -W -j 2 doc doc/_build/html`."""

import os
import re
import sys
from importlib import metadata
from pathlib import Path

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_order and samples

project = "sk_microagg"
author = "the sk_microagg developers"
release = version = metadata.version("sk-microagg")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
# Where it is published, names of other packages lead to their pages. Other builds fetch nothing.
if "READTHEDOCS" in os.environ:
    extensions.append("sphinx.ext.intersphinx")
intersphinx_mapping = {
    "numpy": ("https://numpy.org/doc/stable/", None),
    "pandas": ("https://pandas.pydata.org/docs/", None),
    "scipy": ("https://docs.scipy.org/doc/scipy/", None),
    "sklearn": ("https://scikit-learn.org/stable/", None),
}
exclude_patterns = ["_build", "_samples", "auto_examples/*.ipynb"]

autosummary_generate = True
# What all estimators have from scikit-learn refers to its own documentation, and is left out.
autodoc_default_options = {
    "members": True,
    "inherited-members": True,
    "exclude-members": "get_metadata_routing, set_output, set_callbacks, set_fit_request, "
    "set_transform_request, set_score_request",
}
# numpydoc says the types, in words.
autodoc_typehints = "none"
# Members are listed by autodoc, once.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 0,
    "abort_on_example_error": True,
    "parallel": True,  # as many at a time as `sphinx-build -j` says
    # By name: a class could not be stored between two builds.
    "within_subsection_order": "gallery_order.ByHand",
    "thumbnail_size": (880, 560),
}

html_theme = "pydata_sphinx_theme"
html_title = "sk_microagg"
html_static_path = ["_static"]
html_css_files = ["look.css"]
templates_path = ["_templates"]
html_theme_options = {
    "navbar_center": ["navigation"],
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
html_context = {
    "header_pages": [
        ("Getting started", "getting_started"),
        ("Explore", "explore"),
        ("Command line", "command_line"),
        ("Choosing", "choosing"),
        ("Protection", "threat_model"),
        ("Examples", "auto_examples/index"),
        ("API", "api"),
    ]
}
html_sidebars = {"**": []}  # all pages are in the header


# Between the digits of "25 000" and before a unit, lines must not break.
BEFORE_DIGITS_OR_UNIT = re.compile(r"(?<=\d) (?=\d{3}\b|(?:s|ms|MB|GB|GiB|kB|bytes)\b)")


def keep_numbers_on_one_line(app, doctree, docname):
    """Put no-break spaces into the numbers of running text and tables, not into code."""
    for text in list(doctree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block | nodes.raw):
            kept = BEFORE_DIGITS_OR_UNIT.sub("\N{NO-BREAK SPACE}", text)
            if kept != text:
                text.parent.replace(text, nodes.Text(kept))


def write_samples(app):
    """Write the sample report and the sample card, which pages link to."""
    from samples import write_samples

    write_samples()


def setup(app):
    """Connect what is written here."""
    app.connect("builder-inited", write_samples)
    app.connect("doctree-resolved", keep_numbers_on_one_line)
