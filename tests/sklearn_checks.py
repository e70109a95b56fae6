"""scikit-learn's estimator checks, all of them or some."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

# What a parameter can break, while all other checks are of the class: what fit does to parameters
# that are objects, whether rows come out alike in any order, and how it ends with one column, which
# has an algorithm of its own, and with fewer records than k.
A_FEW = {
    "check_estimators_overwrite_params",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_methods_sample_order_invariance",
}


def with_checks(estimators, only=None, expected_failed_checks=None):
    """Parametrize a test by estimators and the checks that they have to pass.

    Parameters
    ----------
    estimators : list of estimators
        The estimators.

    only : set of str or None, default=None
        Names of the checks; None for all of them.

    expected_failed_checks : callable or None, default=None
        From an estimator, a dict with the names of the checks that fail, and why. Any of them that
        passes is an error.
    """
    marked = parametrize_with_checks(estimators, expected_failed_checks=expected_failed_checks)
    names, cases = marked.args
    # As a list: up to scikit-learn 1.9.0 the checks are a generator, of which pytest 9.1 warns.
    cases = [case for case in cases if only is None or name_of(case) in only]
    return pytest.mark.parametrize(names, cases, **marked.kwargs)


def name_of(case):
    _, check = getattr(case, "values", case)  # An expected failure comes with a mark.
    return check.func.__name__
