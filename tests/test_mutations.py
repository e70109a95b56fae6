"""Tests notice when a line of the package is changed, above all one that keeps k or a secret."""

import pytest
from mutations import MUTATIONS, ROOT, find, run


@pytest.mark.slow
def test_every_line_is_there_once():
    places = [find(mutation.old) for mutation in MUTATIONS]
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) == len(places) == 40
    tests = {test for mutation in MUTATIONS for test in mutation.tests.split()}
    assert [test for test in tests if not (ROOT / "tests" / test).exists()] == []


@pytest.mark.parametrize("texts", [[], ["x = 1\n", "y = 2\nx = 1\n"], ["x = 1\nx = 1\n"]])
def test_a_line_that_is_gone_or_occurs_twice_is_an_error(tmp_path, texts):
    (tmp_path / "sk_microagg").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "sk_microagg" / f"{number}.py").write_text(text)
    with pytest.raises(ValueError, match=rf"'x = 1' .* {sum(t.count('x') for t in texts)} times"):
        find("x = 1", tmp_path)


@pytest.mark.release
def test_changes_are_noticed():
    noticed = run(MUTATIONS)
    survivors = [mutation for mutation in MUTATIONS if noticed[mutation.name] is None]
    assert [mutation.name for mutation in survivors if mutation.weakens] == []
    assert len(survivors) <= 2, survivors
