"""The HTML representation of every estimator links to a page that the documentation has."""

import inspect
import re
from pathlib import Path

from marks import in_one_case
from sklearn.utils import estimator_html_repr
from test_documentation import PUBLIC

from sk_microagg import KAIM, MicroAggregator, TableAggregator
from sk_microagg._utils._estimator import DOCUMENTATION, BaseEstimator
from sk_microagg.builders import MDAV, Builder

API = (Path(__file__).parents[2] / "doc" / "api.rst").read_text()
ESTIMATORS = {
    value: name  # KAIM has two public names
    for name, value in PUBLIC.items()
    if inspect.isclass(value) and hasattr(value, "get_params") and not inspect.isabstract(value)
}


def documented_names():
    """Full names of what has a page of its own: autosummary writes one for each."""
    for section in API.split(".. currentmodule:: ")[1:]:
        module = section.split("\n", 1)[0]
        assert "   :toctree: generated/\n" in section
        for name in re.findall(r"^   (\w+)$", section, re.MULTILINE):
            yield f"{module}.{name}"


PAGES = {f"{DOCUMENTATION}/generated/{name}.html" for name in documented_names()}


@in_one_case("estimator", ESTIMATORS)
def test_every_estimator_has_a_page(estimator):
    assert issubclass(estimator, BaseEstimator)
    link = estimator.__new__(estimator)._get_doc_link()  # some need arguments
    assert link in PAGES
    assert link.endswith(f".{estimator.__name__}.html")


@in_one_case("estimator", [MicroAggregator(), TableAggregator(), KAIM(), MDAV()])
def test_the_link_is_in_the_page(estimator):
    assert f'href="{estimator._get_doc_link()}"' in estimator_html_repr(estimator)


def test_a_class_of_the_user_has_no_link():
    class Mine(Builder):
        def _build(self, X, k):
            raise NotImplementedError

    assert Mine()._get_doc_link() == ""
