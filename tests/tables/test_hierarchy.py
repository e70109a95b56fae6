import copy
import csv
import io
import math
import pickle
from itertools import count, pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sk_microagg import KAIM
from sk_microagg.tables import Hierarchy

CONTINENTS = {"Europe": ["France", "Spain"], "Asia": ["India", "Japan", "Nepal"]}
CONTINENTS_CSV = "France;Europe;*\nSpain;Europe;*\nIndia;Asia;*\nJapan;Asia;*\nNepal;Asia;*\n"


# A tree as the paths of its leaves, each from the leaf up to the root


def part_above(rows, values):
    """The common part of the paths of some leaves; the whole path of a single leaf."""
    paths = [row for row in rows if row[0] in values]
    part = paths[0]
    while any(path[len(path) - len(part) :] != part for path in paths):
        part = part[1:]
    return part


def leaves_below(rows, part):
    return [row[0] for row in rows if row[len(row) - len(part) :] == part]


def loss_by_counting(rows, values):
    below = leaves_below(rows, part_above(rows, values))
    return 0.0 if len(set(values)) == 1 else len(below) / len(rows)


def entropy_by_counting(rows, values, counts):
    if len(set(values)) == 1:
        return 0.0
    shares = [
        counts[leaf] / sum(counts.values())
        for leaf in leaves_below(rows, part_above(rows, values))
        if counts[leaf]
    ]
    return sum(-share * math.log(share) for share in shares)


def csv_of(rows):
    """Leaves that are less deep than others are repeated, so that all rows have equal lengths."""
    longest = max(map(len, rows))
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=";").writerows(
        (row[0],) * (longest - len(row)) + row for row in rows
    )
    file.seek(0)
    return file


def named(shape, numbers):
    """Nested lists as nested dicts, with a name for each node."""
    return {
        f"node {next(numbers)}": None if below is None else named(below, numbers) for below in shape
    }


def paths_of(tree, above=("*",)):
    paths = []
    for label, below in tree.items():
        path = (label, *above)
        paths += [path] if below is None else paths_of(below, path)
    return paths


shapes = st.lists(
    st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=20),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(shapes, st.data())
def test_a_tree_does_not_depend_on_the_form_it_is_given_in(shape, data):
    tree = named(shape, count())
    rows = paths_of(tree)
    leaves = [row[0] for row in rows]
    values = data.draw(st.lists(st.sampled_from(leaves), min_size=1, max_size=4))
    counts = {leaf: data.draw(st.integers(0, 3)) for leaf in leaves} | {leaves[0]: 1}
    for hierarchy in (
        Hierarchy.from_paths(rows),
        Hierarchy.from_nested(tree),
        Hierarchy.from_nested({"*": tree}),
        Hierarchy.from_parents({node: above for row in rows for node, above in pairwise(row)}),
        Hierarchy.from_csv(csv_of(rows)),
    ):
        assert hierarchy.leaves == leaves
        assert hierarchy.root == "*"
        assert hierarchy.lowest_common(*values) == part_above(rows, values)[0]
        assert hierarchy.loss(*values) == loss_by_counting(rows, values)
        entropy = hierarchy.entropy(*values, counts=counts)
        assert entropy == pytest.approx(entropy_by_counting(rows, values, counts), abs=1e-12)


@st.composite
def paths_with_few_labels(draw):
    """Paths of equal lengths of leaves 0, 1, ... in any order; nodes and leaves share labels."""
    depth, n_leaves = draw(st.integers(0, 3)), draw(st.integers(1, 12))
    above = st.tuples(*[st.sampled_from(["0", "1", "x", "y"])] * depth)
    return [(str(leaf), *draw(above), "*") for leaf in draw(st.permutations(range(n_leaves)))]


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(paths_with_few_labels(), st.data())
def test_nodes_with_one_label_in_several_places_are_distinct(rows, data):
    hierarchy = Hierarchy.from_paths(rows)
    values = data.draw(st.lists(st.sampled_from(hierarchy.leaves), min_size=1, max_size=3))
    assert hierarchy.lowest_common(*values) == part_above(rows, values)[0]
    assert hierarchy.loss(*values) == loss_by_counting(rows, values)


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(paths_with_few_labels())
def test_leaves_below_any_node_are_adjacent(rows):
    leaves = Hierarchy.from_paths(rows).leaves
    assert sorted(leaves) == sorted(row[0] for row in rows)
    for row in rows:
        for depth in range(len(row)):
            places = sorted(map(leaves.index, leaves_below(rows, row[depth:])))
            assert places == list(range(places[0], places[-1] + 1))


def test_a_label_at_several_levels_and_below_several_parents():
    hierarchy = Hierarchy.from_paths(
        [("a", "a", "x", "*"), ("b", "a", "x", "*"), ("c", "a", "y", "*"), ("d", "y", "y", "*")]
    )
    assert hierarchy.lowest_common("a", "b") == "a"
    assert hierarchy.loss("a", "b") == 0.5
    assert hierarchy.lowest_common("b", "c") == "*"
    assert hierarchy.lowest_common("c", "d") == "y"


@pytest.mark.parametrize("value", [17, "17", 17.0, np.int8(17), np.float32(17)], ids=repr)
def test_equal_numbers_of_any_type_and_their_text_are_one_leaf(value):
    for hierarchy in (
        Hierarchy.from_nested({"low": [value, 18], "high": [0.5]}),
        Hierarchy.from_parents({value: "low", "18": "low", 0.5: "high", "low": "*", "high": "*"}),
        Hierarchy.from_paths([(value, "low", "*"), (18.0, "low", "*"), ("0.5", "high", "*")]),
    ):
        assert hierarchy.leaves == ["17", "18", "0.5"]
        for same in (17, "17", 17.0, np.int64(17)):
            assert hierarchy.loss(value, same) == 0
            assert hierarchy.lowest_common(same, np.float64(18)) == "low"
        assert hierarchy.lowest_common(same, "0.5") == "*"


def test_booleans_are_not_numbers():
    with pytest.raises(ValueError, match=r"^'True' "):
        Hierarchy.from_nested([0, 1]).loss(True)
    assert Hierarchy.from_nested([True, False]).loss("True", False) == 1


def test_leaves_in_a_dict_have_none_or_nothing_below_them():
    hierarchy = Hierarchy.from_nested({"a": None, "b": [], "c": {}, "d": {"e", "f"}, "g": ("h",)})
    assert hierarchy.leaves[:3] == ["a", "b", "c"]
    assert sorted(hierarchy.leaves[3:]) == ["e", "f", "h"]
    assert hierarchy.lowest_common("e", "f") == "d"


def test_parents_from_a_pandas_series():
    hierarchy = Hierarchy.from_parents(pd.Series({"a": "x", "b": "x", "x": "all"}))
    assert hierarchy.leaves == ["a", "b"]
    assert hierarchy.root == "all"


# CSV


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "tree.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    "text",
    [
        CONTINENTS_CSV,
        "\ufeff" + CONTINENTS_CSV,
        CONTINENTS_CSV.replace("\n", "\r\n"),
        "\n" + CONTINENTS_CSV.replace("\n", "\n\n") + "  \n;;\n",
        CONTINENTS_CSV.rstrip(),
        '"' + CONTINENTS_CSV.replace(";", '";"').replace("\n", '"\n"').removesuffix('"'),
    ],
    ids=["plain", "mark", "returns", "blank lines", "no last end", "quotes"],
)
def test_csv_files_as_programs_write_them(tmp_path, text):
    path = written(tmp_path, text)
    with path.open(encoding="utf-8", newline="") as file:
        trees = [Hierarchy.from_csv(file)]
    trees += [Hierarchy.from_csv(source) for source in (path, str(path), io.StringIO(text))]
    for hierarchy in trees:
        assert hierarchy.leaves == ["France", "Spain", "India", "Japan", "Nepal"]
        assert hierarchy.lowest_common("France", "Spain") == "Europe"
        assert hierarchy.loss("India", "Nepal") == 0.6


def test_csv_with_another_separator_and_labels_that_contain_it(tmp_path):
    text = '"Bonn, city",Köln,*\nBrühl,Köln,*\n"a;b",c,*\n'
    hierarchy = Hierarchy.from_csv(written(tmp_path, text), sep=",")
    assert hierarchy.leaves == ["Bonn, city", "Brühl", "a;b"]
    assert hierarchy.lowest_common("Bonn, city", "Brühl") == "Köln"


def test_values_released_as_the_root_lose_everything():
    # The root is repeated above a leaf that has nothing else above it.
    hierarchy = Hierarchy.from_csv(io.StringIO("a;*;*\nb;*;*\nc;x;*\nd;x;*\nx;*;*\n"))
    assert hierarchy.lowest_common("a", "b") == "*"
    assert hierarchy.loss("a", "b") == hierarchy.loss("a", "c") == hierarchy.loss("x", "c") == 1
    assert hierarchy.loss("a", "a") == hierarchy.loss("x") == 0
    assert hierarchy.loss("c", "d") == 0.4


ADULT = [
    *("age", "education", "marital-status", "native-country"),
    *("occupation", "race", "sex", "workclass"),
]


@pytest.mark.parametrize("column", ADULT)
def test_real_files_of_arx(data_folder, column):
    path = data_folder / "adult_hierarchies" / f"{column}.csv"
    if not path.exists():
        pytest.skip(f"needs adult_hierarchies/{column}.csv in the data folder")
    rows = [tuple(line.split(";")) for line in path.read_text("utf-8").splitlines()]
    hierarchy = Hierarchy.from_csv(path)
    assert sorted(hierarchy.leaves) == sorted(row[0] for row in rows)
    assert hierarchy.loss(*hierarchy.leaves) == 1
    rng = np.random.default_rng(0)
    for values in rng.choice(hierarchy.leaves, size=(200, 2)).tolist():
        assert hierarchy.lowest_common(*values) == part_above(rows, values)[0]
        assert hierarchy.loss(*values) == loss_by_counting(rows, values)


# Invalid trees


def from_text(text):
    return lambda: Hierarchy.from_csv(io.StringIO(text))


@in_one_case(
    ("make", "message"),
    [
        (from_text("a;x;*\na;y;*\n"), r"^The leaf 'a' "),
        (lambda: Hierarchy.from_nested([17, "17"]), "^The leaf '17' "),
        (lambda: Hierarchy.from_nested({"x": ["a"], "y": ["a"]}), "^The leaf 'a' "),
        (from_text("a;x\nb;y\n"), r"one root, got x and y"),
        (lambda: Hierarchy.from_parents({"a": "x", "b": "y"}), "one root, got x and y"),
        (lambda: Hierarchy.from_paths(["ax", "by"]), "one root, got x and y"),
        (from_text("a;x;*\n\nb;*\n"), "^Row 3 of the file has 2 labels"),
        (from_text(""), "must have a leaf"),
        (lambda: Hierarchy.from_paths([]), "must have a leaf"),
        (lambda: Hierarchy.from_nested({}), "must have a leaf"),
        (lambda: Hierarchy.from_parents({}), "must have a leaf"),
        (from_text("a,x,*\n"), r"^Rows of the file have ',' between labels: .* by ';'\.$"),
        (lambda: Hierarchy.from_paths([("a", "*"), ()]), r"must lead from a leaf .*, got \[\]"),
        (
            lambda: Hierarchy.from_paths([("a", "b", "*"), ("b", "*")]),
            r"^The leaf 'b' .*'a'",
        ),
        (
            lambda: Hierarchy.from_parents({"a": "b", "b": "c", "c": "b", "d": "*"}),
            "^parents .*'a' .*cycle",
        ),
        (lambda: Hierarchy.from_parents({"a": "a"}), "leads from 'a' into a cycle"),
        (
            lambda: Hierarchy.from_parents({17: "x", "17": "y", "x": "*", "y": "*"}),
            "^parents .*'17'.* 'x' and 'y'",
        ),
    ],
)
def test_paths_that_are_not_a_tree_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@in_one_case(
    ("make", "message"),
    [
        (lambda: Hierarchy.from_nested("abc"), r"below '\*' it is str"),
        (lambda: Hierarchy.from_nested({"x": {"y": 7}}), "below 'y' it is int"),
        (lambda: Hierarchy.from_nested(["a", {"x": ["b"]}]), r"below '\*' one holds a dict"),
        (lambda: Hierarchy.from_nested({"x": [["a"]]}), "below 'x' one holds a list"),
        (
            lambda: Hierarchy.from_parents([("a", "*")]),
            r"^parents=\[\('a', '\*'\)\]",
        ),
    ],
)
def test_input_of_the_wrong_form_raises(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_ragged_row_is_named_with_its_file(tmp_path):
    path = written(tmp_path, "a;x;*\nb;x\n")
    with pytest.raises(ValueError, match=r"^Row 2 of .*tree\.csv has 2 labels"):
        Hierarchy.from_csv(path)
    with (
        path.open(encoding="utf-8") as file,
        pytest.raises(ValueError, match=r"of .*tree\.csv has"),
    ):
        Hierarchy.from_csv(file)


def test_a_file_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        Hierarchy.from_csv(tmp_path / "none.csv")


@pytest.mark.parametrize("method", ["lowest_common", "loss"])
def test_values_that_are_not_leaves(method):
    measure = getattr(Hierarchy.from_nested(CONTINENTS), method)
    for value in ("Peru", "Europe", "*", 3):
        with pytest.raises(ValueError, match=rf"^'{value}' is not a leaf".replace("*", r"\*")):
            measure("Spain", value)
    with pytest.raises(ValueError, match="at least one leaf"):
        measure()


def test_entropy_needs_counts_of_leaves():
    tree = Hierarchy.from_nested(CONTINENTS)
    with pytest.raises(ValueError, match=r"^counts: "):
        tree.entropy("Spain", counts={"Peru": 1})


# As a parameter


def towns():
    return pd.DataFrame({"age": [30, 31, 52, 53], "land": ["Spain", "France", "India", "Japan"]})


def release(hierarchy, X, column="land"):
    kaim = KAIM(k=2, hierarchies={column: hierarchy}, refiner=None, random_state=0)
    return kaim.fit_transform(X)


def test_a_hierarchy_may_be_given_as_a_file_or_nested(tmp_path):
    path = written(tmp_path, CONTINENTS_CSV)
    expected = [["[28, 32]", "Europe"]] * 2 + [["[50, 54]", "Asia"]] * 2
    for given_as in (Hierarchy.from_nested(CONTINENTS), path, str(path), CONTINENTS):
        assert release(given_as, towns()).tolist() == expected
        by_position = towns().to_numpy(dtype=object)
        assert release(given_as, by_position, column=1).tolist() == expected


def test_a_list_is_a_hierarchy_with_all_leaves_below_the_root():
    assert release(["Spain", "France", "India", "Japan"], towns())[:, 1].tolist() == ["*"] * 4


@in_one_case(
    ("hierarchies", "error", "message"),
    [
        ({"town": []}, ValueError, r"^hierarchies names 'town'"),
        ({0: []}, ValueError, r"^hierarchies names 0\b"),
        ([CONTINENTS], TypeError, r"^hierarchies=\[.*\]"),
        (
            {"land": 3},
            TypeError,
            r"^hierarchies\['land'\]=3\b",
        ),
        ({"land": None}, TypeError, r"^hierarchies\['land'\]=None\b"),
        ({"land": []}, ValueError, "must have a leaf"),
        (
            {"land": {"Europe": ["Spain", "France"], "Asia": ["India"]}},
            ValueError,
            r"^Column 'land': 1 of 4 cells is no leaf .* at position 3",
        ),
    ],
)
def test_bad_hierarchies_of_a_table(hierarchies, error, message):
    with pytest.raises(error, match=message):
        KAIM(k=2, hierarchies=hierarchies).fit(towns())


def test_a_boolean_and_the_number_that_it_equals():
    X = np.array([[1], [0], [True]], dtype=object)
    with pytest.raises(ValueError, match=r"^Column 0: "):
        release([0, 1], X, column=0)


def test_in_transform_a_value_that_is_not_in_the_tree_counts_as_missing():
    X = towns()
    kaim = KAIM(k=2, hierarchies={"land": CONTINENTS}, refiner=None, random_state=0).fit(X)
    unknown = kaim.transform(pd.DataFrame({"age": [30, 53], "land": ["Peru", "Mars"]}))
    missing = kaim.transform(pd.DataFrame({"age": [30, 53], "land": [None, None]}))
    assert_array_equal(unknown, missing)
    assert unknown[:, 1].tolist() == ["Europe", "Asia"]


# Copies


ALL_KINDS = {
    "tree": (Hierarchy.from_nested({"low": [1, 2], "high": [3, 4, 5]}), "5 leaves below '*'"),
    "bins": (Hierarchy.from_bins([0, 2.5, 5, 10], [0, 5, 10]), "3 bins from 0 to 10"),
    "intervals": (Hierarchy.intervals(), "intervals"),
}


@pytest.mark.parametrize(
    "copied",
    [
        lambda hierarchy: pickle.loads(pickle.dumps(hierarchy)),
        copy.deepcopy,
        lambda hierarchy: clone(KAIM(hierarchies={0: hierarchy})).hierarchies[0],
    ],
    ids=["pickle", "deepcopy", "clone"],
)
@pytest.mark.parametrize("kind", [*ALL_KINDS, "flat"])
def test_copies_generalize_alike(kind, copied):
    hierarchy = Hierarchy.flat() if kind == "flat" else ALL_KINDS[kind][0]
    X = np.array([[1], [2], [2], [3], [5], [5]], dtype=object)
    assert_array_equal(release(copied(hierarchy), X, 0), release(hierarchy, X, 0))
    assert repr(copied(hierarchy)) == repr(hierarchy)


def test_a_fit_does_not_change_a_hierarchy():
    hierarchy = Hierarchy.from_nested(CONTINENTS)
    before = pickle.dumps(hierarchy)
    release(hierarchy, towns())
    assert pickle.dumps(hierarchy) == before


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_repr_of_a_hierarchy(kind):
    hierarchy, described = ALL_KINDS[kind]
    assert repr(hierarchy) == f"<hierarchy of {described}>"
    assert repr(hierarchy) in repr(KAIM(hierarchies={"age": hierarchy}))
