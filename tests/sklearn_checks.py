"""scikit-learn's estimator checks, all of them or some."""

from functools import partial, wraps

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
    marked = parametrize_with_checks(estimators)
    names, cases = marked.args
    # As a list: up to scikit-learn 1.9.0 the checks are a generator, of which pytest 9.1 warns.
    cases = [case for case in cases if only is None or name_of(case[1]) in only]
    if expected_failed_checks is not None:
        cases = [(each, expected(each, check, expected_failed_checks)) for each, check in cases]
    return pytest.mark.parametrize(names, cases, **marked.kwargs)


def expected(estimator, check, expected_failed_checks):
    """A check, or one that it fails; a mark of pytest would format each of the failures."""
    if name_of(check) not in expected_failed_checks(estimator):
        return check

    @wraps(check.func)
    def fails(estimator):
        try:
            check(estimator)
        except Exception:
            return
        raise AssertionError(f"{name_of(check)} is expected to fail, and passes")

    return partial(fails)


def name_of(check):
    return check.func.__name__
