from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from hypothesis import given, settings
from hypothesis import strategies as st
from marks import in_one_case

from sk_microagg._utils._formatting import (
    counted,
    in_records,
    percent,
    rounded_percent,
    three_digits,
)


@in_one_case(
    ("share", "text"),
    [
        (0, "0%"),
        (1e-17, "0%"),  # by rounding
        (1e-9, "<0.001%"),
        (0.0000099, "<0.001%"),
        (0.00001, "0.001%"),
        (0.00456, "0.456%"),
        (0.01, "1.00%"),
        (0.0374, "3.74%"),
        (0.5, "50.0%"),
        (0.9994, "99.9%"),
        (0.9996, ">99.9%"),
        (1 - 1e-9, ">99.9%"),
        (1 - 1e-16, "100%"),  # by rounding
        (1, "100%"),
        (1.0001, "100.0%"),
        (12.5, "1250.0%"),
    ],
)
def test_percent(share, text):
    assert percent(share) == text


@in_one_case(
    ("share", "digits", "text"),
    [
        (0.0004, 1, "<0.1%"),
        (0.004, 1, "0.4%"),
        (0.04, 1, "4%"),
        (0.4, 1, "40%"),
        (0.996, 1, ">99%"),
        (0.00123456, 3, "0.123%"),
        (0.0123456, 3, "1.23%"),
        (0.123456, 3, "12.3%"),
        (0.123456, 4, "12.35%"),
    ],
)
def test_digits_of_percent(share, digits, text):
    assert percent(share, digits=digits) == text


@in_one_case("n", [2, 7, 999, 10_001, 1_000_000])
@in_one_case("digits", [1, 2, 3, 4])
def test_only_none_and_all_are_written_as_0_and_100_percent(n, digits):
    texts = [percent(count / n, digits=digits) for count in (0, 1, n - 1, n)]
    assert texts[0] == "0%"
    assert texts[-1] == "100%"
    for text in texts[1:-1]:
        assert text[0] in "<>" or 0 < float(text.rstrip("%")) < 100


def test_counts_have_thousands_separators():
    assert counted(0, "record") == "0 records"
    assert counted(1, "record") == "1 record"
    assert counted(1_234_567, "record") == "1,234,567 records"


@in_one_case(
    ("share", "up", "down"),
    [
        (0.05, "5%", "5%"),
        (0.123456, "12.4%", "12.3%"),
        (0.0300001, "3.01%", "3%"),
        (1.2301, "124%", "123%"),
        (12.3456, "1240%", "1230%"),
        (0.0000123456, "0.00124%", "0.00123%"),
        (1e-12, "1.00e-10%", "1.00e-10%"),
        (1.5e300, "1.50e+302%", "1.50e+302%"),
    ],
)
def test_rounded_percent(share, up, down):
    assert rounded_percent(share, 3, ROUND_CEILING) == up
    assert rounded_percent(share, 3, ROUND_FLOOR) == down


@in_one_case(
    ("number", "text"),
    [
        (0, "0.00"),
        (12.345, "12.3"),
        (-0.09999, "\N{MINUS SIGN}0.100"),
        (0.00123456, "0.00123"),
        (123456.7, "123,457"),
        (1.5e-9, "1.5e\N{MINUS SIGN}09"),
        (-2e12, "\N{MINUS SIGN}2e+12"),
        (float("nan"), "\N{EN DASH}"),
    ],
)
def test_three_digits(number, text):
    assert three_digits(number) == text


def test_shares_of_records_have_their_number():
    assert in_records(28 / 300, 300) == "28 of 300 records (9.33%)"
    assert in_records(1.0, 1234) == "1,234 of 1,234 records (100%)"


@settings(deadline=None)
@given(st.floats(1e-12, 1e12))
def test_bounds_are_never_rounded_to_the_better_side(share):
    exact = 100 * Decimal(repr(share))
    assert Decimal(rounded_percent(share, 3, ROUND_CEILING)[:-1]) >= exact
    assert Decimal(rounded_percent(share, 4, ROUND_FLOOR)[:-1]) <= exact
