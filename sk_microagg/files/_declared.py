"""What the user says about single columns: their kinds, weights, orders and decimals."""

import re
from dataclasses import dataclass, field, replace

from sk_microagg.files._errors import CommandError

KINDS = {"categorical": "category", "ordinal": "ordinal", "date": "date", "number": "number"}

DIRECTIVES = "dmyYHIMSpbBj"


@dataclass(frozen=True)
class Declared:
    """What the user says about columns, by their names."""

    kinds: dict = field(default_factory=dict)
    date_patterns: dict = field(default_factory=dict)
    orders: dict = field(default_factory=dict)
    weights: dict = field(default_factory=dict)
    decimals: dict = field(default_factory=dict)
    categories: str | None = None

    @classmethod
    def of(cls, options):
        """Take it from options of `named_columns`; raise if they contradict each other."""
        return replace(
            cls.of_kinds(options),
            weights=dict(options.weights),
            decimals=dict(options.round),
            categories=options.categories,
        )

    @classmethod
    def of_kinds(cls, options):
        """Take only what columns hold, for commands that release nothing."""
        kinds = {}
        for option, kind in KINDS.items():
            for item in getattr(options, option):
                name = item if isinstance(item, str) else item[0]
                if kinds.setdefault(name, kind) != kind:
                    other = next(o for o in KINDS if KINDS[o] == kinds[name])
                    raise CommandError(f"Column {name!r} is named by --{other} and by --{option}.")
        patterns = {name: pattern for name, pattern in options.date if pattern is not None}
        for name, pattern in patterns.items():
            _check_pattern(name, pattern)
        return cls(
            kinds=kinds,
            date_patterns=patterns,
            orders={name: _order(name, text) for name, text in options.ordinal if text is not None},
        )

    def check(self, choice):
        """Raise unless options have an effect on the columns that they name.

        Parameters
        ----------
        choice : Choice
            The columns of the table.
        """
        self.check_kinds([*choice.anonymized, *choice.sensitive], "anonymized")
        for option, named in (("--weights", self.weights), ("--round", self.decimals)):
            named = [name for name in named if name is not None]
            _check_use(option, named, choice.anonymized, "anonymized")

    def check_kinds(self, used, what):
        """Raise unless kinds are of columns that are used.

        Parameters
        ----------
        used : list of str
            These columns.

        what : str
            What is done with them, for the message.
        """
        for option, kind in KINDS.items():
            named = [name for name in self.kinds if self.kinds[name] == kind]
            _check_use(f"--{option}", named, used, what)

    def decimals_of(self, name):
        """To how many decimals the user wants a column rounded; None if nothing is said."""
        return self.decimals.get(name, self.decimals.get(None))


def _check_use(option, named, used, what):
    for name in named:
        if name not in used:
            raise CommandError(f"{option} names {name!r}, which is not {what}.")


def _check_pattern(name, pattern):
    directives = re.findall("%(.?)", pattern)
    if not {"Y", "y"} & {*directives} or {*directives} - {*DIRECTIVES}:
        raise CommandError(
            f"--date {name}={pattern}: the pattern must have a year, %Y or %y, and no other parts "
            f"than {', '.join('%' + letter for letter in DIRECTIVES)}."
        )


def _order(name, text):
    levels = [level.strip() for level in text.split("<")]
    if len(levels) < 2 or "" in levels or len({*levels}) < len(levels):
        raise CommandError(
            f"--ordinal {name}={text}: write different values from the lowest to the highest, with "
            "< between them."
        )
    return levels
