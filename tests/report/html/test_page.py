"""The file that `selfplay report` writes: what it holds, what it leaves out, and that no text in it can act."""

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from report.made_runs import HOSTILE, bug, made_run, with_metrics
from report.test_training import STEP

from selfplay.commands.report import ReportError, ReportOrder, write_report
from selfplay.curriculum import CurriculumError


class Elements(HTMLParser):
    """The elements of a page as a browser finds them: (tag, attributes, text inside)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)


def page_of(run: Path, most: int = 15_000_000) -> str:
    return write_report(ReportOrder(run, run / "page.html", most), print).read_text()


def index_of(page: str) -> Any:
    (text,) = (text for tag, attributes, text in Elements(page).found if attributes.get("id") == "index")
    return json.loads(text)


def chunks_of(page: str) -> dict[str, Any]:
    found = re.findall(r'<script type="text/plain" id="chunk-(\w+)">([\w+/=]+)</script>', page)
    return {name: json.loads(zlib.decompress(base64.b64decode(data))) for name, data in found}


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_the_page_holds_figures_bugs_attempts_and_episodes(tmp_path: Path) -> None:
    """Three bugs, two attempts each: of bugs 1 and 2 the first is resolved, of bug 0 none. One of four artifacts handed
    in failed the check `bug`, which is the fifth of eight; behind these stands the gate."""
    page = page_of(made_run(tmp_path / "run"))
    index, chunks = index_of(page), chunks_of(page)
    assert index["totals"] | {"bugs": 3, "second_order": 1, "judged": 4, "attempts": 6, "resolved": 2,
                              "attempted": 3, "solved_once": 2} == index["totals"]  # fmt: skip
    assert index["yields"] == {"history": {"invalid": 1}, "removal": {"valid": 3}}
    assert [(one["entered"], one["failed"]) for one in index["checks"]] == [(4, 0)] * 4 + [(4, 1)] + [(3, 0)] * 4
    (rate,) = index["rates"]
    assert (rate["bins"], rate["mean"]) == ([1, 0, 2, 0, 0, 0], pytest.approx(1 / 3, abs=1e-4))
    first, *_, second = index["bugs"]
    assert (first["rate"], second["parent"], second["made_of"]) == ([0, 2], first["id"],
                                                                    {"policy": "scripted", "number": 0})  # fmt: skip
    detail = chunks[first["at"]][first["id"]]
    assert [line[0] for line in detail["inject"]["files"][0]["hunks"][0]["l"]] == [" ", "-", "+"]
    assert [one["number"] for one in detail["attempts"]] == [0, 1]
    assert "attempt" in chunks[second["at"]][second["id"]]
    shared = [chunks[row["at"]][row["id"]]["shared"]["test_parser.py"] for row in index["bugs"]]
    assert len(set(shared)) == 1 and "json.dump" in chunks[shared[0]], "a script stands once for all its bugs"
    played = {row[0]: chunks[row[-1]] for row in index["episodes"] if row[-1]}
    assert len(index["episodes"]) == 10 and len(played) == 9, "the episode that failed a check stored no tape"
    assert [step["tool"] for step in played["000000-injector.jsonl.zst"]["steps"]] == ["bash", "submit"]


def test_hostile_text_stays_data(tmp_path: Path) -> None:
    page = page_of(made_run(tmp_path / "run", text=HOSTILE))
    elements = Elements(page).found
    scripts = [attributes for tag, attributes, _ in elements if tag == "script"]
    kinds = [attributes.get("type") for attributes in scripts]
    assert kinds.count(None) == 1 and set(kinds) == {None, "application/json", "text/plain"}
    assert not [tag for tag, _, _ in elements if tag in ("img", "iframe", "object", "embed", "base", "form")]
    assert "\u2028" not in page and "<!--" not in page
    found = [*strings(index_of(page)), *strings(chunks_of(page))]
    assert sum("<script>owned=1</script>" in text for text in found) > 20, "it is shown, not dropped"
    assert not [name for _, attributes, _ in elements for name in attributes if name.startswith("on")]


def test_the_policy_allows_our_own_script_and_style_and_no_network(tmp_path: Path) -> None:
    page = page_of(made_run(tmp_path / "run", 1))
    (policy,) = (found["content"] for _, found, _ in Elements(page).found if found.get("http-equiv"))
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))
    script = page.split(' id="page-script">')[1].split("</script>")[0]
    style = page.split("<style>")[1].split("</style>")[0]
    for name, text in (("script-src", script), ("style-src", style)):
        assert rules[name] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert rules["default-src"] == rules["connect-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function", script)
    assert page.index("Content-Security-Policy") < page.index("<script")
    assert not re.search(r"(src|href)=\"(?!#|data:,\")", page)


def test_two_pages_of_one_pool_are_the_same(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")
    assert page_of(run) == page_of(run)


def broken_files(run: Path) -> None:
    (run / "bugs" / bug(1).id / "bug_inject.diff").unlink()


def half_a_record(run: Path) -> None:
    file = run / "bugs" / bug(1).id / "bug.json"
    file.write_bytes(file.read_bytes()[:300])


def other_files(run: Path) -> None:
    (run / "bugs" / bug(1).id / "test_weaken.diff").write_text("other\n")


def a_link(run: Path) -> None:
    (run / "bugs" / bug(1).id).rename(run / "away")
    (run / "bugs" / bug(1).id).symlink_to(run / "away")


def no_folder(run: Path) -> None:
    (run / "bugs" / bug(1).id).rename(run / "away")


@pytest.mark.parametrize("damage", [broken_files, half_a_record, other_files, a_link, no_folder])
def test_a_damaged_bug_is_left_out_counted_and_named(tmp_path: Path, damage: Any) -> None:
    run = made_run(tmp_path / "run")
    damage(run)
    index = index_of(page_of(run))
    assert [row["id"] for row in index["bugs"]] == [bug(0).id, bug(2).id, f"{bug(0).id}.o2.0"]
    assert index["left_out"] == 1 and index["problems"][0][0] == f"bugs/{bug(1).id}"


def test_what_a_kill_left_and_damaged_tapes_and_figures_are_named(tmp_path: Path) -> None:
    run = with_metrics(made_run(tmp_path / "run"), 1, STEP)
    (run / "bugs" / "demo-1.removal.9999").mkdir()
    (run / "trajectories" / "demo-1-0-solver.jsonl.zst").write_bytes(b"torn")
    with (run / "metrics.jsonl").open("a") as file:
        file.write("{")
    (run / "summary.json").write_text("[")
    index = index_of(page_of(run))
    named = [what for what, _ in index["problems"]]
    assert named == ["summary.json", "metrics.jsonl", "bugs/demo-1.removal.9999",
                     "trajectories/demo-1-0-solver.jsonl.zst"]  # fmt: skip
    assert len(index["bugs"]) == 4 and index["training"] is None


def test_a_page_keeps_to_its_size_and_counts_what_has_no_room(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", 20, attempts=1)
    whole = page_of(run)
    assert index_of(whole)["without_details"] == 0
    small = index_of(page_of(run, 0))
    assert len(small["bugs"]) == 21 and small["without_details"] == 21
    assert (small["without_episode"], small["without_tape"]) == (41, 0), "the search for room ended at the first"
    assert not chunks_of(page_of(run, 0))


def test_a_training_run_has_its_curves(tmp_path: Path) -> None:
    """STEP: 10,000 tokens in 75 s, 50,000 in 25 s; one of four injections is valid; 6 of 8 solver's episodes had the
    newest weights, two were a version behind; groups 2/4 (half) and twice 4/4 (all)."""
    training = index_of(page_of(with_metrics(made_run(tmp_path / "run", 1), 3, STEP)))["training"]
    drawn = {one["name"]: one["series"] for one in training["lines"]}
    assert training["at"] == [1, 2, 3]
    assert drawn["reward"] == {"injector": [-0.125] * 3, "solver": [0.5] * 3}
    assert drawn["shares"] == {"valid": [0.25] * 3, "solved": [0.75] * 3}
    assert drawn["staleness"] == {"injector": [0.0] * 3, "solver": [0.25] * 3}
    assert drawn["trained"] == {"trained": [2000.0] * 3} and drawn["sampled"]["sampled"][0] == pytest.approx(133.333)
    assert training["stacks"][0]["columns"] == [[0, 0, 1, 0, 0, 2]] * 3


def test_a_run_of_nothing_is_a_page_too(tmp_path: Path) -> None:
    index = index_of(page_of(made_run(tmp_path / "run", 0)))
    assert index["bugs"] == [] and index["training"] is None and index["rates"] == []


@pytest.mark.parametrize("out", ["", "file/page.html"])
def test_where_no_file_can_be_written_it_says_so(tmp_path: Path, out: str) -> None:
    run = made_run(tmp_path / "run", 1)
    (tmp_path / "file").touch()
    with pytest.raises((ReportError, OSError)):
        write_report(ReportOrder(run, tmp_path / out), print)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_the_page_of_another_users_run_goes_elsewhere(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", 1)
    os.chown(run, 4321, 4321)
    with pytest.raises(ReportError, match=r"run belongs to another user \(uid 4321\)") as refused:
        write_report(ReportOrder(run), print)
    assert refused.value.hint == "Name a file of your own with --out."
    assert write_report(ReportOrder(run, tmp_path / "page.html"), print).exists()


def test_a_link_in_the_place_of_the_page_is_replaced_and_not_followed(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", 1)
    (tmp_path / "mine").write_text("mine")
    (run / "report.html").symlink_to(tmp_path / "mine")
    write_report(ReportOrder(run), print)
    assert (tmp_path / "mine").read_text() == "mine" and not (run / "report.html").is_symlink()


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CurriculumError, match="has no curriculum"):
        write_report(ReportOrder(tmp_path), print)
