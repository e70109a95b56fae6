"""What a visitor sees first: the README, and files that other sites read, agree with each other."""

import json
import re
import tomllib
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path

from marks import in_one_case

from sk_microagg._utils._estimator import DOCUMENTATION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
URLS = PROJECT["urls"]
README = (ROOT / "README.md").read_text()

# Text for visitors, and files that programs read.
FRONT = [*ROOT.glob("*.md"), *ROOT.glob("packaging/*"), *ROOT.glob(".github/**/*.yml")]
FRONT += [ROOT / "CITATION.cff", ROOT / "pyproject.toml"]


def test_links_of_the_readme_work_on_other_sites():
    # PyPI shows it, too, and does not resolve relative links.
    pages = f"{DOCUMENTATION}/"
    for target in re.findall(r"\]\(([^)]+)\)", README):
        path = re.sub(r"^https://[^/]+/sk-microagg/sk-microagg/(?:blob/)?main/", "", target)
        if target.startswith(pages) and "auto_examples" not in target:
            path = f"doc/{target.removeprefix(pages).partition('#')[0].removesuffix('.html')}.rst"
        assert target.startswith("https://"), target
        assert path.startswith("https://") or (ROOT / path).is_file(), target


@in_one_case("page", sorted(ROOT.glob("*.md")))
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        assert target.startswith("https://") or (ROOT / target).exists(), target


@in_one_case("path", FRONT)
def test_one_address(path):
    text = path.read_text()
    for address in re.findall(r"https://[\w.-]*sk-microagg[\w.-]*(?:/[\w.-]+){0,2}", text):
        assert address.startswith((URLS["Source"], URLS["Documentation"]))
    for address in re.findall(r"https://github\.com/[\w.-]*microagg[\w.-]*/[\w.-]+", text):
        assert address == URLS["Source"]


def test_estimators_and_the_package_name_one_documentation():
    assert DOCUMENTATION.startswith(f"{URLS['Documentation']}/")


def test_the_first_commands_install_what_was_cloned():
    # .ci/run and other checks run these very blocks in a fresh clone.
    demo, tests = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)[:2]
    assert re.search(r"pip install '?\.(\[\S+\])?'? && \S*sk-microagg demo$", demo.strip())
    assert re.search(r"pip install '\.\[tests\]' && \S*pytest$", tests.strip())
    assert README.index("pip install 'sk-microagg[") < README.index(demo)


def test_the_same_versions_of_python_everywhere():
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert re.findall(r"cp3(\d+)-", settings["cibuildwheel"]["build"]) == named
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    assert settings["ruff"]["target-version"] == f"py3{named[0]}"


def test_the_lowest_versions_that_are_tested_are_those_of_the_package():
    tested = dict(re.findall(r"(?m)^([\w-]+)==(\S+)$", (ROOT / ".github/lowest.txt").read_text()))
    extras = PROJECT["optional-dependencies"]
    needed = [
        *PROJECT["dependencies"],
        *(need for name in extras if name != "doc" for need in extras[name]),
    ]
    for name, lowest in re.findall(r"(?m)^([\w-]+)>=([\d.]+)$", "\n".join(needed)):
        assert f"{tested[name]}.".startswith(f"{lowest}."), name


def test_the_recipe_for_conda_needs_what_the_package_needs():
    recipe = (ROOT / "packaging" / "recipe.yaml").read_text()
    run = recipe.split("  run:\n")[1].split("  run_constraints:\n")[0]
    assert re.findall(r"^    - (\S+) (>=\S+)$", run, re.MULTILINE) == [
        tuple(re.fullmatch(r"([\w-]+)(>=.+)", need).groups()) for need in PROJECT["dependencies"]
    ]
    constraints = dict(re.findall(r"^    - ([\w-]+) >=(\S+)$", recipe, re.MULTILINE))
    extras = PROJECT["optional-dependencies"]
    for need in [*extras["table"], *extras["report"], *extras["explore"][1:]]:
        name, lowest = need.split(">=")
        assert constraints[{"matplotlib": "matplotlib-base"}.get(name, name)] == lowest


def test_every_action_is_pinned_by_a_commit():
    for path in ROOT.glob(".github/workflows/*.yml"):
        text = path.read_text()
        uses = re.findall(r"\buses: (\S+)(.*)", text)
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action, _ in uses), path
        assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", version) for _, version in uses), path
        assert re.search(r"^permissions:\n  contents: read\n", text, re.MULTILINE), path


def test_hooks_have_the_versions_of_the_workflow():
    named = [(ROOT / path).read_text() for path in (".pre-commit-config.yaml", "CONTRIBUTING.md")]
    for tool in re.findall(
        r'pipx run "([\w-]+==[\d.*]+)"', (ROOT / ".github/workflows/ci.yml").read_text()
    ):
        assert tool in named[0]
    for tool in re.findall(r'"(\w+==[\d.]+\*)"', named[1]):
        assert tool in named[0] or tool.startswith("mypy")


def test_the_paper_is_short_and_has_the_figures_of_the_benchmarks():
    paper = (ROOT / "paper" / "paper.md").read_text().split("---\n", 2)[2]
    assert len(paper.split()) <= 1000
    sources = re.findall(r"@article\{(\w+)", (ROOT / "paper" / "paper.bib").read_text())
    assert {*re.findall(r"@(\w+)", paper)} == {*sources}
    records = json.loads((ROOT / "benchmarks/results/records.json").read_text())["results"]["cells"]
    rows = re.findall(r"^\| (\w+) \| (\d+) \| (.*) \|$", paper, re.MULTILINE)
    assert len(rows) == 6
    for table, k, figures in rows:
        cells = [cell for cell in records if (cell["data"], str(cell["k"])) == (table, k)]
        best = min(cells, key=lambda cell: cell["loss_percent"])
        assert figures.split(" | ") == [
            best["published_best"],
            f"{best['loss_percent']:.4f}",
            rounded(best["bound_percent"], "0.0001", ROUND_FLOOR),
            rounded(best["gap_percent"], "0.01", ROUND_CEILING) + "%",
        ]


def rounded(number, digits, direction):
    return str(Decimal(str(number)).quantize(Decimal(digits), rounding=direction))
