"""What the commands do, in the words of their help."""

FILES = """\
files:
  Tables are CSV (.csv, .tsv, also .gz; with a header), Excel (.xlsx) or Parquet (.parquet), by the
  suffix. A pipe, /dev/stdin or - is CSV; with OUT -, the summary goes to stderr.
  In CSV files, a column holds numbers if all its known cells do, maybe with the same symbol, as %
  or $; but codes if one of them has a leading zero, as zip codes have, or is too long for a
  measurement. It holds dates if all are ISO dates. Missing values are: empty cells, NA, N/A, n/a,
  NaN, nan, null, NULL, ? and *, and what --na names. If most cells are numbers or dates, but not
  all, that is an error, until --na, --decimal, --thousands, --categorical or --date settles it.

columns:
  Options that name columns may be repeated, and take names separated by commas. A name that
  contains a comma is alone in its option, as in --drop 'income, yearly', or in double quotes; an
  empty one is --drop ''. Spaces around names do not matter.
"""

ANONYMIZE = """\
Make a table k-anonymous: every combination of the chosen columns occurs at least K times in OUT.

In a group of rows, numbers and dates are replaced by their mean, rounded to the decimals that the
column has, and categories by the most frequent one, or as --categories says (TableAggregator). A
cell is empty where most of a group are. With --method kaim, values are replaced by intervals, nodes
of hierarchies and * instead. Other columns are released unchanged, so choose all columns by which a
person could be recognized, and drop names and personal numbers. Those that are not named by
--sensitive are assumed to be known to intruders: the summary says whom they single out.

k says nothing of what a group shares, and counts rows: --sensitive with --l or --t demands
different values in each group, --unit counts people, and --strata keeps parts of the table apart.
"""

RISK = """\
Compare a release with the original, row by row: its level of anonymity, the records that an
intruder who knows the original values can re-identify, and the changes. Name the columns that were
anonymized: of other columns of the release it prints whom they single out. With --sensitive, also
what classes of equal rows disclose about other columns, which intruders are assumed not to know,
and with --unit, how many people share a row.
"""

EXPLORE = """\
Serve a page on this machine only, and open it in the browser: choose what each column is, see what
k costs and which risk remains, and write release and report next to the table. The page shows the
command line that does the same. It ends with Ctrl-C, or when the page is closed.
"""

DEMO = """\
Anonymize a table that ships with scikit-learn and show the result; or, with --write, write a
made-up table of 300 patients to try the other commands on.
"""
