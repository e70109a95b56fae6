from marks import in_one_case

from sk_microagg._utils._formatting import shown


@in_one_case(
    ("name", "text"),
    [
        ("age", "age"),
        ("yearly income", "yearly income"),
        ("Height, cm", "'Height, cm'"),
        ("", "''"),
        (" ", "' '"),
        ("pay ", "'pay '"),
    ],
)
def test_a_name_is_seen_and_is_one(name, text):
    assert shown(name) == text
