"""The summary of a command, in lines of a name and a fact."""

import textwrap

from sk_microagg._utils._numbers import percent
from sk_microagg._utils._printable import printable
from sk_microagg._utils._shares import homogeneity_lines
from sk_microagg.builders import BUILDERS
from sk_microagg.refiners import REFINERS

WIDTH_OF_NAMES = 18
WIDTH = 100


def facts_of(
    estimator,
    choice,
    n_records,
    smallest_group,
    level,
    homogeneous,
    *,
    privacy=None,
    certificate=None,
    interrupted=(),
):
    """Summarize an anonymization.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.

    choice : Choice
        The columns, by what happened to them.

    n_records, smallest_group, level : int
        Number of records, size of the smallest group, and level of anonymity.

    homogeneous : ndarray of shape (n_unchanged,)
        For each unchanged column, the share of the records in groups that share one value.

    privacy : dict or None, default=None
        Facts about what was demanded of each group beyond its size.

    certificate : Certificate or None, default=None
        What was proven about the information loss.

    interrupted : list of str, default=()
        What was ended early, and what that means.

    Returns
    -------
    facts : dict
        By name, a fact or a list of several.
    """
    shares = dict(zip(choice.unchanged, homogeneous, strict=True))
    lines = _lines_of_sensitive(shares, choice, n_records, estimator.k)
    # A stratum is a part of every row of its groups.
    others = [name for name in choice.unchanged if name not in {*choice.sensitive, *choice.strata}]
    lines += homogeneity_lines({name: shares[name] for name in others}, n_records, estimator.k)
    level_of = " together with its stratum" if choice.strata else ""
    facts = {
        "records": n_records,
        "anonymized": ", ".join(choice.anonymized),
        "unchanged": ", ".join(choice.unchanged) or "none",
        **({"sensitive": ", ".join(choice.sensitive)} if choice.sensitive else {}),
        **({"strata": ", ".join(choice.strata)} if choice.strata else {}),
        "method": _method_of(estimator),
        "groups": estimator.n_groups_,
        "smallest group": smallest_group,
        "anonymity level": f"{level}  (every row occurs at least this often{level_of})",
        **(privacy or {}),
        **({"homogeneity": lines} if lines else {}),
        "information loss": percent(estimator.information_loss_, digits=3),
    }
    if certificate is not None:
        facts["certificate"] = f"{certificate.verdict()}: {certificate.reason()}"
    if interrupted:
        facts["interrupted"] = list(interrupted)
    return facts


def _lines_of_sensitive(shares, choice, n_records, k):
    """Lines on homogeneity for all sensitive columns, also those without homogeneous groups."""
    none = [
        f"{name}: no records are in groups that share one value"
        for name in choice.sensitive
        if shares[name] == 0
    ]
    shares = {name: shares[name] for name in choice.sensitive}
    return homogeneity_lines(shares, n_records, k, most=None) + none


def _method_of(estimator):
    words = [type(estimator).__name__]
    if hasattr(estimator, "builder_"):
        words.append(f"builder {_name_of(estimator.builder_, BUILDERS)}")
    words.append(f"refiner {_name_of(estimator.refiner_, REFINERS)}")
    if getattr(estimator, "hierarchies", None):
        words.append(f"hierarchies of {', '.join(estimator.hierarchies)}")
    return ", ".join(words)


def _name_of(method, kinds):
    """The name of a builder or refiner, "none" for None."""
    if method is None:
        return "none"
    # Under constraints, a subclass may stand for a builder.
    return next(name for name, kind in kinds.items() if isinstance(method, kind))


def print_facts(facts):
    """Print one fact per line, each item of a list on its own line."""
    for name, fact in facts.items():
        # Paths and names of columns are never broken.
        lines = [
            line
            for part in (fact if isinstance(fact, list) else [fact])
            for line in textwrap.wrap(
                printable(part),
                WIDTH - WIDTH_OF_NAMES,
                break_long_words=False,
                break_on_hyphens=False,
            )
        ]
        indent = "\n" + " " * WIDTH_OF_NAMES
        print(f"{name:<{WIDTH_OF_NAMES}}{indent.join(lines)}")
