"""How Sphinx makes the site; `make docs` writes the pages that it reads first."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

from pages import docstrings  # it stands beside this file
from pages.places import ROOT

import ldpstats

project = "ldpstats"
author = copyright = "the ldpstats developers"  # noqa: A001  # Sphinx's
version = release = ldpstats.__version__
language = "en"
# two hyphens are those of an option
smartquotes = False

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
nitpicky = True
# docstrings set parameters, attributes and literals between single backticks; what is a name becomes a link
default_role = "py:obj"
nitpick_ignore_regex = [("py:obj", ".*")]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"
nb_merge_streams = True
nb_ipywidgets_js: dict[str, dict[str, str]] = {}

# types stand in words in the Parameters sections
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "ldpstats"
html_static_path = [str(ROOT / "docs" / "static")]
html_css_files = ["site.css"]
html_favicon = str(ROOT / "docs" / "static" / "icon.svg")
html_copy_source = False
html_show_sphinx = False


def setup(app: Sphinx) -> None:
    """Have docstrings read as they are written here."""
    app.connect("autodoc-process-docstring", docstrings.read)
