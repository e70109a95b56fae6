"""What a user chooses on the page as a request, and a request in the words of the page."""

import json
import re
from argparse import Namespace
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from sk_microagg._cli._command_line import command_line
from sk_microagg._cli._voice import SHELL, in_order
from sk_microagg.files._format import levels_of
from sk_microagg.files._messages import Option, RequestError, Voice, one_line
from sk_microagg.privacy._registry import constraints_from, known_constraints
from sk_microagg.release._request import ReleaseRequest, check_numbers, check_values

# Roles of columns, and the parameters that name them. Those to keep are named by none.
ROLES: dict[str, Any] = {
    "quasi_identifier": "quasi_identifiers",
    "sensitive": "sensitive",
    "unit": "unit",
    "stratum": "strata",
    "weight": "weight",
    "keep": None,
    "drop": "drop",
}

# Kinds that can be chosen, and the parameters that name them.
KINDS = {"category": "categorical", "ordinal": "ordinal", "date": "date", "number": "number"}

# What `explore` was started with holds for the release, too.
STARTED_WITH = "na", "decimal", "thousands", "encoding", "sheet", "sep", "header"
STARTED_WITH += "hierarchies", "n_jobs"

# What a page sends in any case.
SENT = {"k", "method", "categories", "weight_release", "constraints", "time_limit", "certificate"}
SENT |= {"shuffle", "release", "report", "overwrite", "columns"}


class PageVoice(Voice):
    """Parameters as what one chooses on the page."""

    verb = "choose "
    texts: ClassVar[dict[str, str]] = {
        "no_quasi_identifier": "No column is a quasi-identifier: choose one.",
        "day_or_month": "{column}: day and month cannot be told apart: write which beside the "
        "kind, %d/%m/%Y or %m/%d/%Y.",
    }
    phrases: ClassVar[dict[str, str]] = Voice.phrases | {
        "leave_out": "choose another kind",
        "name_missing": "start explore with {value} for texts that mean missing",
        "generalize": "Drop it, or generalize it: start explore with --hierarchies, and release of "
        "categories only what a group shares",
        "not_in_order": "write it as low<medium<high beside the kind",
        "say_pattern": "write the pattern beside the kind, as in %d %b %Y",
        "drop_it": "drop it",
        "no_pattern": "leave the pattern empty",
        "overwrite_it": "choose to overwrite it",
        "write_order": "write different values from the lowest to the highest, with < between them",
        "drop_or_anonymize": "drop it, or make it a quasi-identifier",
        "drop_or_hide": "drop columns, or make them quasi-identifiers, or sensitive if no intruder "
        "can know them",
        "unit": "make the column a unit",
    }

    def option(self, option: Option) -> str:
        name, value = option.name, option.value
        if name in STARTED_WITH:
            return SHELL.option(option)
        kind = next((kind for kind, parameter in KINDS.items() if parameter == name), None)
        if kind is not None and value is not None:
            return f"{option.column}={in_order(value)}"
        if kind is not None:
            return f"the kind {kind}"
        if name in ("report", "card") and value is not None:
            return str(value)
        if name == "unit_share" and value is not None:
            return f"at most {value:g} as rows of one unit in a group"
        if name == "weight_release" and value is not None:
            return "weights unchanged" if value == "keep" else "the mean of the group for weights"
        words = name.replace("_", " ")
        return words if value is None else f"{words} {value}"

    def advice(self, options: tuple) -> str:
        """What to do: on the page, or when it is started."""
        together = [option if isinstance(option, tuple) else (option,) for option in options]
        starts = [SHELL.together.join(map(SHELL.option, those)) for those in together]
        return ", or ".join(
            f"start explore with {start}"
            if those[0].name in STARTED_WITH
            else Voice.advice(self, those)
            for those, start in zip(together, starts, strict=True)
        )


PAGE = PageVoice()


@dataclass(frozen=True)
class Source:
    """The table on the page."""

    options: Namespace
    names: list

    @property
    def version(self) -> str:
        """What changes when the columns do."""
        return sha256(json.dumps(self.names).encode()).hexdigest()[:16]

    def beside(self, name: Any) -> str:
        """The path of a file next to the table; raise if that is no name of a file."""
        if not isinstance(name, str) or name in ("", ".", "..") or re.search(r"[/\\:\0]", name):
            text = "{name!r} must be the name of a file, without a folder."
            raise RequestError("no_file_name", text, name=name)
        return str(Path(self.options.input).parent / name)


def request_of(settings: dict, source: Source) -> ReleaseRequest:
    """The request that means the same as what a user has chosen.

    The page sends `k`, `method`, `categories`, `weight_release`, `constraints` by the names of
    their first options, `time_limit`, `certificate`, `shuffle`, `release`, `report`, maybe a
    `card`, a `scenario` and a list `analysis` for them, `overwrite`, and in `columns` the `role`,
    `kind` and `weight` of each column of the table, and maybe as `detail` the order of its values
    or the pattern of its dates.
    """
    if not _are_complete(settings, len(source.names)):
        raise RequestError("incomplete", "The settings are incomplete: load the page again.")
    columns = dict(zip(source.names, settings["columns"], strict=True))
    started = {name: getattr(source.options, name) for name in STARTED_WITH}
    report, card = settings["report"], settings.get("card")
    request = ReleaseRequest(
        source.options.input,
        source.beside(settings["release"]),
        k=settings["k"],
        **_roles(columns),
        **_kinds(columns),
        column_weights=_weights(columns, settings["method"]),
        privacy=_constraints(settings["constraints"]),
        **_method(settings["method"]),
        categories=None if settings["categories"] == "mode" else settings["categories"],
        weight_release=settings["weight_release"],
        time_limit=settings["time_limit"],
        certificate=settings["certificate"],
        report=None if report is None else source.beside(report),
        card=None if card is None else source.beside(card),
        scenario=settings.get("scenario"),
        analysis=settings.get("analysis", ()),
        shuffle=settings["shuffle"] is True,
        overwrite=settings["overwrite"] is True,
        **started,
    )
    # To a request that names none, all columns are quasi-identifiers.
    if not any(column["role"] == "quasi_identifier" for column in columns.values()):
        raise RequestError("no_quasi_identifier", PAGE.texts["no_quasi_identifier"])
    check_values(request)
    check_numbers(request, ("column_weights",))
    return request.replace(command=command_line(request, source.names, hides=True))


def _are_complete(settings: dict, n_columns: int) -> bool:
    """Whether settings have all that a page of this version sends."""
    columns = settings.get("columns")
    return (
        settings.keys() >= SENT
        and isinstance(settings["constraints"], dict)
        and isinstance(columns, list)
        and len(columns) == n_columns
        and all(map(_is_column, columns))
    )


def _is_column(column: Any) -> bool:
    if not isinstance(column, dict) or not column.keys() >= {"role", "kind", "weight"}:
        return False
    role, kind, weight = (column[name] for name in ("role", "kind", "weight"))
    return role in [*ROLES] and kind in [None, *KINDS] and isinstance(weight, int | float)


def _roles(columns: dict) -> dict:
    named: dict[str, Any] = {role: [] for role in ROLES}
    for name, column in columns.items():
        named[column["role"]].append(name)
    for role in ("unit", "weight"):
        if len(named[role]) > 1:
            one, other, *_ = named[role]
            text = f"{{one!r}} and {{other!r}} are {role}s: choose one of them."
            raise RequestError(f"two_{role}s", text, other, one=one, other=other)
        named[role] = next(iter(named[role]), None)
    # Without columns to keep, all others are anonymized, and the command is shorter.
    if not named.pop("keep"):
        named["quasi_identifier"] = None
    return {ROLES[role]: names for role, names in named.items()}


def _kinds(columns: dict) -> dict:
    """The kinds that were chosen, where they matter: other columns are not even read."""
    chosen: dict[str, Any] = {"categorical": [], "number": [], "ordinal": {}, "date": {}}
    for name, column in columns.items():
        kind = column["kind"] if column["role"] in ("quasi_identifier", "sensitive") else None
        if kind is None:
            continue
        parameter = KINDS[kind]
        detail = str(column.get("detail") or "").strip()
        if parameter == "ordinal":
            chosen["ordinal"][name] = levels_of(detail) if detail else None
        elif parameter == "date":
            chosen["date"][name] = detail or None
        else:
            chosen[parameter].append(name)
    return chosen


def _method(chosen: str) -> dict:
    if chosen == "disjoint":
        return {"release": "generalized", "intervals": chosen}
    return {"release": chosen} if chosen == "generalized" else {"method": chosen}


def _weights(columns: dict, method: str) -> dict:
    if method in ("kaim", "disjoint"):
        return {}
    return {
        name: float(column["weight"])
        for name, column in columns.items()
        if column["role"] == "quasi_identifier" and column["weight"] != 1
    }


def _constraints(values: dict) -> list:
    try:
        return constraints_from(values)
    except (ValueError, TypeError) as error:
        raise RequestError("bad_value", "{why}", why=one_line(error)) from error


def constraints_to_choose() -> list[dict]:
    # What most users look for comes first.
    in_order = sorted(known_constraints().items(), key=lambda item: item[1].is_about_units)
    return [
        {
            "name": name,
            "label": constraint.front.label,
            "meaning": constraint.front.meaning,
            "needs": constraint.needed_role(),
            "choices": [
                [value, constraint.front.choice.format(value)] for value in constraint.front.choices
            ],
            "choice": constraint.front.choice,
        }
        for name, constraint in in_order
    ]
