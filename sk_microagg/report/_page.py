"""The page: facts and pictures, laid out by the files in `templates`."""

from datetime import datetime
from importlib.resources import files

from sk_microagg._utils._numbers import at_most, counted, percent, signed, whole_percent
from sk_microagg._utils._shares import in_a_list
from sk_microagg.plotting._convergence import total_of, trace_of
from sk_microagg.report._figures import draw_certificate, draw_columns, draw_groups, draw_search
from sk_microagg.report._method import method_of
from sk_microagg.report._recipe import recipe_of
from sk_microagg.report._summary import summary_of

FILTERS = {
    "at_most": at_most,
    "counted": counted,
    "in_a_list": in_a_list,
    "percent": percent,
    "signed": signed,
    "thousands": "{:,}".format,
    "whole_percent": whole_percent,
}


def render(
    X, release, estimator, facts, title, certificate=None, categorical=(), units=None, command=None
):
    """The report as HTML.

    `categorical` are the numbers of columns of categories, and `units` says who each record belongs
    to. `command` is what was typed in a shell, if the release was made there.
    """
    trace = trace_of(estimator)
    method = method_of(estimator, facts)
    how = dict(method)["Method"]
    return (
        _environment()
        .get_template("report.html")
        .render(
            title="Anonymization report" if title is None else str(title),
            now=datetime.now().astimezone(),
            facts=facts,
            method=method,
            certificate=certificate,
            certificate_picture=certificate and draw_certificate(certificate, estimator),
            summary=summary_of(facts, how, certificate),
            columns=draw_columns(
                X, release, facts.names, facts.k, facts.column_losses, categorical, units
            ),
            groups=draw_groups(release, facts.k),
            search=None if trace is None else draw_search(trace, total_of(estimator, trace)),
            recipe=recipe_of(estimator, facts.beyond_k, command),
        )
    )


def _environment():
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    environment.globals["zip"] = zip
    return environment


def _read_template(name):
    return (files(__package__) / "templates" / name).read_text(encoding="utf-8")
