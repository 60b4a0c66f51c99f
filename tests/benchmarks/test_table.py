"""What was found, as Markdown; and its place in a page."""

import pytest

from benchmarks.table import BEGIN, END, Result, Target, figure, markdown, render, replaced, report, verdicts

NEAR = Target("latency", 1.3, 1.3, "×")
FAR = Target("disk", 0.31, 0.3, " MB")
UNKNOWN = Target("memory", None, 1.1, "×")


def test_a_target_is_met_up_to_its_limit() -> None:
    assert NEAR.met is True
    assert FAR.met is False


def test_what_could_not_be_measured_is_neither_met_nor_missed() -> None:
    assert UNKNOWN.met is None
    assert "| memory |        ? | ≤ 1.1× | unknown |" in verdicts([UNKNOWN])


def test_each_target_is_told_with_its_verdict() -> None:
    assert verdicts([NEAR, FAR]).split("\n")[2:] == [
        "| latency |    1.30× |   ≤ 1.3× |     met |",
        "| disk    |  0.31 MB | ≤ 0.3 MB | not met |",
    ]


def test_columns_line_up() -> None:
    lines = markdown(("", "p50 ms"), [("no proxy", "0.2"), ("x", "1,234.56")]).split("\n")
    assert lines == [
        "|          |   p50 ms |",
        "|----------|---------:|",
        "| no proxy |      0.2 |",
        "| x        | 1,234.56 |",
    ]


def test_an_unknown_figure_is_no_zero() -> None:
    assert figure(None) == "?"
    assert figure(0.0) == "0.00"
    assert figure(12345.678, 1, " MB") == "12,345.7 MB"


def test_a_report_has_all_targets_before_all_results() -> None:
    first = Result("First", ("", "n"), (("a", "1"),), (NEAR,))
    second = Result("Second", ("", "n"), (("b", "2"),), (FAR,), remark="Beware.")
    text = report("2 cores", [first, second])
    places = [text.index(part) for part in ("2 cores", "latency", "disk", "### First", "### Second", "Beware.")]
    assert places == sorted(places)
    assert render(first) in text


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nThe end.\n"
    once = replaced(page, "new\n")
    assert once == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nThe end.\n"
    assert replaced(once, "new") == once


@pytest.mark.parametrize("page", ["", BEGIN, f"{END}{BEGIN}"])
def test_a_page_without_its_marks_is_left_alone(page: str) -> None:
    with pytest.raises(ValueError, match="measured"):
        replaced(page, "new")
