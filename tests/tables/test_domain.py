import pickle
import struct
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case

from sk_microagg import KAIM
from sk_microagg._kernels import RangeColumns
from sk_microagg.tables import Hierarchy

TREE = Hierarchy.from_nested({"low": [1, 2], "high": {"four": [4], "more": [5, 6]}})
BINS = Hierarchy.from_bins([0, 2.5, 5, 10], [0, 5, 10])
NUMBERS = [1, 2, 4, 4, 5, 6]
KINDS = {
    "tree": TREE,
    "bins": BINS,
    "intervals": Hierarchy.intervals(),
    "flat": Hierarchy.flat(),
}
every_kind = pytest.mark.parametrize("hierarchy", KINDS.values(), ids=KINDS)


def domain_of(hierarchy, values=NUMBERS):
    return hierarchy._domain(np.array(values, dtype=object), "Column 'x'")


def cover_of(domain, *values):
    """The generalized value of some values."""
    ranges = domain.encode(values)
    return domain.cover(ranges[:, 0].min(), ranges[:, 1].max())


def label_of(domain, *values):
    return domain.label(cover_of(domain, *values))


def loss_of(domain, cover):
    return RangeColumns([domain], [1.0]).loss_of(0, *domain.range_of(cover))


def loss(domain, *values):
    return loss_of(domain, cover_of(domain, *values))


# What all kinds have in common


@every_kind
def test_a_single_value_is_released_unchanged(hierarchy):
    domain = domain_of(hierarchy)
    for value in NUMBERS:
        for same in (value, float(value), np.int64(value)):
            assert label_of(domain, same, value) == str(value)
            assert loss(domain, same) == 0


@every_kind
def test_a_generalized_value_covers_its_values(hierarchy):
    domain = domain_of(hierarchy)
    for pair in combinations_with_replacement(NUMBERS, 2):
        cover = cover_of(domain, *pair)
        low, high = domain.range_of(cover)
        assert domain.cover(low, high) == cover
        for first, last in domain.encode(pair):
            assert low <= first <= last <= high
            assert domain.read(domain.label(cover), first) == cover


@every_kind
def test_the_root_covers_more_than_all_values_together(hierarchy):
    domain = domain_of(hierarchy)
    low, high = domain.range_of(())
    assert low == 0
    assert domain.encode(NUMBERS).max() < high
    assert domain.label(()) == "*"
    assert domain.cover(low, high) == ()
    assert loss_of(domain, ()) == 1


@every_kind
def test_values_outside_the_hierarchy_are_encoded_as_the_root(hierarchy):
    domain = domain_of(hierarchy)
    values = np.array([4, "four", True], dtype=object)
    (known, *unknown) = domain.encode(values).tolist()
    assert known[0] == known[1]
    assert unknown == [list(domain.range_of(()))] * 2


@every_kind
def test_a_column_without_known_values(hierarchy):
    domain = domain_of(hierarchy, [])
    low, high = domain.range_of(())
    assert domain.label(domain.cover(low, high)) == "*"
    assert domain.encode([]).shape == (0, 2)
    assert loss_of(domain, ()) == 1


@every_kind
def test_frequencies_sum_to_those_of_the_root(hierarchy):
    domain = domain_of(hierarchy)
    info, _ = RangeColumns([domain], [1.0]).info_of(0, *domain.range_of(()))
    shares = np.array([1, 1, 2, 1, 1]) / 6
    assert info == pytest.approx(-(shares * np.log(shares)).sum())


@pytest.mark.parametrize("kind", ["tree", "flat"])
def test_categories_have_no_midpoint(kind):
    domain = domain_of(KINDS[kind])
    assert domain.midpoint(()) is None
    assert domain.midpoint(cover_of(domain, 4)) is None


# Flat


def test_a_flat_hierarchy_has_the_root_directly_above_all_values():
    domain = domain_of(Hierarchy.flat(), ["b", "a", "c", 17, "17", 17.0])
    assert domain.n_leaves == 4
    assert label_of(domain, 17, "17") == "17"
    for pair in (("a", "b"), ("b", "c"), ("c", 17)):
        assert label_of(domain, *pair) == "*"
        assert loss(domain, *pair) == 1


def test_text_of_any_characters_is_a_value():
    words = ["a\0", "a", "", " ", "nan", "None", "['a']"]
    domain = domain_of(Hierarchy.flat(), words)
    assert [label_of(domain, word) for word in words] == words


# Bins


steps = st.lists(st.integers(1, 5), min_size=1, max_size=8)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(-9, 9), steps, st.data())
def test_numbers_are_in_the_bins_given_by_the_edges(first, widths, data):
    edges = [first, *(first + np.cumsum(widths)).tolist()]
    coarser = sorted({edges[0], edges[-1], *data.draw(st.sets(st.sampled_from(edges)))})
    numbers = st.integers(edges[0], edges[-1] - 1)
    values = data.draw(st.lists(numbers, min_size=1, max_size=20))
    a, b = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    width = edges[-1] - edges[0]
    expected = (str(a), 0.0) if a == b else None
    for low, high in [*pairwise(edges), *pairwise(coarser)]:
        if expected is None and low <= a < high and low <= b < high:
            expected = (f"[{low}, {high})", (high - low) / width)
    domain = domain_of(Hierarchy.from_bins(edges, coarser), values)
    assert (label_of(domain, a, b), loss(domain, a, b)) == (expected or ("*", 1.0))


def test_an_edge_belongs_to_the_bin_above_it():
    domain = domain_of(BINS, [2.4, 2.5, 2.6, 5, 5.5])
    assert label_of(domain, 2.5, 2.6) == "[2.5, 5)"
    assert label_of(domain, 2.4, 2.5) == "[0, 5)"
    assert label_of(domain, 5, 5.5) == "[5, 10)"
    assert label_of(domain, 2.6, 5) == "*"
    # As a share of 10, whatever the numbers are.
    assert loss(domain, 2.5, 2.6) == 0.25
    assert loss(domain, 2.4, 2.5) == 0.5


def test_a_new_number_is_in_a_bin_but_is_not_a_leaf():
    domain = domain_of(BINS)
    assert label_of(domain, 3, 4) == "[2.5, 5)"
    assert label_of(domain, 3, 1) == "[0, 5)"
    assert label_of(domain, 9.9, 4) == "*"
    for outside in (-0.1, 10, 11, np.inf):
        assert label_of(domain, outside) == "*"


@pytest.mark.parametrize("value", [-0.5, 10, 11])
def test_a_number_outside_all_bins_cannot_be_fitted(value):
    message = "^Column 'x': 1 of 2 cells is .*, at position 1"
    with pytest.raises(ValueError, match=message):
        domain_of(BINS, [1, value])


def test_midpoints_of_nested_bins():
    domain = domain_of(BINS)
    assert domain.midpoint(cover_of(domain, 4)) == 4
    assert domain.midpoint(cover_of(domain, 5, 6)) == 7.5
    assert domain.midpoint(cover_of(domain, 1, 4)) == 2.5
    assert np.isnan(domain.midpoint(()))


@pytest.mark.parametrize(
    "edges",
    [[], [1], [1, 1], [2, 1], [0, np.nan, 1], [0, np.inf], [[0, 1], [2, 3]], ["a", "b"], "ab", 3],
    ids=repr,
)
def test_bad_edges(edges):
    message = r"^edges=.* must be two or more ascending finite numbers\.$"
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_bins(edges)
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_bins([0, 1], edges)


@pytest.mark.parametrize("coarser", [[0, 1.5, 3], [0, 2], [1, 3], [-1, 3], [0, 3, 4]], ids=repr)
def test_coarser_bins_that_do_not_contain_finer_ones(coarser):
    message = r"^Coarser edges must be some of \[0.0, 1.0, 2.0, 3.0\] and have its ends, got \["
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_bins([0, 1, 2, 3], coarser)


# Intervals


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1), st.booleans(), st.data())
def test_intervals_extend_from_the_smallest_to_the_largest_number(values, are_halves, data):
    unit = 0 if are_halves else 1
    if are_halves:
        values = [value + 0.5 for value in values]
    some = data.draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    domain = domain_of(Hierarchy.intervals(), values)
    low, high = min(some), max(some)
    assert label_of(domain, *some) == (str(low) if low == high else f"[{low}, {high}]")
    assert domain.midpoint(cover_of(domain, *some)) == (low + high) / 2
    width = max(values) - min(values) + unit
    assert loss(domain, *some) == (0 if low == high else (high - low + unit) / width)


def test_a_new_number_lies_between_its_neighbors_or_at_an_end():
    domain = domain_of(Hierarchy.intervals())
    assert label_of(domain, 3) == "[2, 4]"
    assert label_of(domain, 3, 5.5) == "[2, 6]"
    assert label_of(domain, -7) == "1"
    assert label_of(domain, np.inf, 5) == "[5, 6]"


def test_labels_of_intervals_show_the_exact_numbers():
    values = np.random.default_rng(0).normal(size=20) * 10.0 ** np.arange(-10, 10)
    domain = domain_of(Hierarchy.intervals(), values)
    low, high = label_of(domain, *values[:2]).strip("[]").split(", ")
    assert (float(low), float(high)) == (min(values[:2]), max(values[:2]))


@in_one_case("kind", ["bins", "intervals"])
@in_one_case("value", ["four", "4", True, np.inf, -1e200])
def test_values_that_are_not_numbers_cannot_be_fitted(kind, value):
    message = "^Column 'x': 1 of 2 cells is .*, at position 1"
    with pytest.raises(ValueError, match=message):
        domain_of(KINDS[kind], [1, value])


def test_in_transform_values_that_are_not_numbers_count_as_missing():
    kaim = KAIM(k=2, grid=None, refiner=None, random_state=0)
    kaim.fit([[1, "a"], [2, "a"], [7, "b"], [9, "b"]])
    new = kaim.transform(np.array([["?", "a"], ["8", "b"], [None, "b"]], dtype=object))
    assert new.tolist() == [["[1, 2]", "a"], ["[7, 9]", "b"], ["[7, 9]", "b"]]


# Released values


def spellings(value):
    """The forms in which a value may occur in a pickle."""
    if isinstance(value, str):
        return [value.encode()]
    return [repr(value).encode(), struct.pack("<d", value), struct.pack(">d", value)]


def holds(domain, value):
    stored = pickle.dumps(domain)
    return any(spelling in stored for spelling in spellings(value))


WORDS = [f"word {number:02} of the table" for number in range(30)]
FRACTIONS = np.random.default_rng(1).uniform(0, 10, size=30).tolist()


@pytest.mark.parametrize(
    ("kind", "values"), [("flat", WORDS), ("bins", FRACTIONS), ("intervals", FRACTIONS)]
)
def test_released_values_include_no_value_that_the_release_does_not_show(kind, values):
    hierarchy = KINDS[kind]
    domain = domain_of(hierarchy, values)
    covers = [
        (),
        *(cover_of(domain, value) for value in values[:3]),
        cover_of(domain, *values[3:5]),
    ]
    released = hierarchy._released_values(covers, domain)
    shown = values[:5] if kind == "intervals" else values[:3]
    for value in values:
        assert holds(domain, value)
        assert holds(released, value) == (value in shown)
    for cover in covers:
        assert released.label(cover) == domain.label(cover)
        if kind == "flat":
            assert loss_of(released, cover) == loss_of(domain, cover)
        if cover:
            assert released.midpoint(cover) == domain.midpoint(cover)


def test_the_root_shows_no_value_of_a_column():
    for kind, values in (("flat", WORDS), ("bins", FRACTIONS), ("intervals", FRACTIONS)):
        released = KINDS[kind]._released_values([(), ()], domain_of(KINDS[kind], values))
        assert not any(holds(released, value) for value in values)
        assert loss_of(released, ()) == 1


def test_a_released_tree_does_not_show_which_leaves_occur():
    covers = [(), ("low",), ("high", "more", "5")]
    released = TREE._released_values(covers, domain_of(TREE))
    assert not any(released.mass)
    for values in ((1, 2), (4, 6), (5, 6), (2, 4)):
        assert loss(released, *values) == TREE.loss(*values)
        assert label_of(released, *values) == TREE.lowest_common(*values)


@every_kind
def test_released_values_cover_the_same_numbers_as_before(hierarchy):
    domain = domain_of(hierarchy)
    covers = [cover_of(domain, *pair) for pair in combinations_with_replacement(NUMBERS, 2)]
    released = pickle.loads(pickle.dumps(hierarchy._released_values(covers, domain)))
    for cover, (a, b) in zip(covers, combinations_with_replacement(NUMBERS, 2), strict=True):
        low, high = released.range_of(cover)
        ranges = released.encode([a, b])
        assert low <= ranges.min()
        assert ranges.max() <= high
        assert released.cover(low, high) == cover
