"""What all estimators of the package have in common: a link to their page in a notebook."""

from sklearn.base import BaseEstimator as _BaseEstimator

DOCUMENTATION = "https://sk-microagg.readthedocs.io/en/stable"

# Where autosummary puts the page of a class, by the public name of the class.
PAGE = f"{DOCUMENTATION}/generated/{{estimator_module}}.{{estimator_name}}.html"


class BaseEstimator(_BaseEstimator):
    """scikit-learn's base class, whose HTML representation links to our documentation.

    The link leads to the page of the class in the public package that it is defined in. A class of
    the user has none, since `_doc_link_module` is not where it is defined.

    Examples
    --------
    >>> from sk_microagg.builders import MDAV
    >>> MDAV()._get_doc_link()
    'https://sk-microagg.readthedocs.io/en/stable/generated/sk_microagg.builders.MDAV.html'
    """

    _doc_link_module = "sk_microagg"
    _doc_link_template = PAGE
