"""The report of a study as a file: what is in it, and that nothing in the data can break it."""

import json
import re
import zlib
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

import fewer
from fewer.report import study_page, study_summary_html
from fewer.report._study_figures import null_figure
from fewer.report._study_numbers import duration
from fewer.study import Caution, Plan
from fewer.study.answers._first_lines import first_lines

# SHA-256 of plotly-cartesian.min.js 3.0.1, as plotly.js has released it.
PLOTLY = "27c5203ecba052de6447603696f39558f5d1961839ba7ab153639f66d3d0d569"

_VOID = {"meta", "input", "br", "link", "img"}


class _Page(HTMLParser):
    """Elements of a page with their attributes and all the text in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[dict] = []
        self._open: list[dict] = []
        self.feed(text)
        assert not self._open, "elements that are not closed"

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self._open[-1]["tag"] == tag, f"</{tag}> closes <{self._open[-1]['tag']}>"
        self._open.pop()

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag: str, **wanted) -> list[dict]:
        found = [each for each in self.elements if each["tag"] == tag]
        return [each for each in found if all(each.get(key.rstrip("_")) == value for key, value in wanted.items())]

    def by_id(self, name: str) -> dict:
        (found,) = [each for each in self.elements if each.get("id") == name]
        return found


@pytest.fixture(scope="module")
def page(report) -> _Page:
    return _Page(report.read_text(encoding="utf-8"))


def _figure(page: _Page, name: str) -> dict:
    return json.loads(page.by_id(f"data-{name}")["text"])


def test_verdict_comes_first_and_all_questions_are_answered(page, nasty_study):
    findings = nasty_study.findings
    assert page.all("h1")[0]["text"] == findings.headline
    titles = [heading["text"] for heading in page.all("h2")]
    assert titles == [*(answer.question for answer in findings.shown.values()), "What was done"]
    said = " ".join(each["text"] for each in page.all("p", class_="answer")).replace("\u00a0", " ")
    answers = [answer for name, answer in findings.shown.items() if name != "careful"]
    assert all(answer.sentence.split("\x07")[0] in said for answer in answers)


def test_first_screen_has_no_scores_but_those_of_the_first_line(page, nasty_study):
    leads = " ".join(each["text"] for each in page.all("p", class_="lead"))
    assert not re.search(r"\d\.\d{3}", leads)
    first, below = ({trace["name"] for trace in _figure(page, name)["data"]} for name in ("first", "curve"))
    assert {"all features, cross-indexed", "baseline"} <= first
    with_all = nasty_study.findings.fewer_help.evidence["with_all"]
    assert f"all features, cross-indexed: {with_all:.3f}" in below
    (line,) = [trace for trace in _figure(page, "first")["data"] if trace["name"] == "all features, cross-indexed"]
    assert line["y"] == [with_all] * 2
    assert f"all columns {with_all:.3f}" in nasty_study.findings.headline


def test_size_of_the_table_counts_what_was_left_out():
    rng = np.random.default_rng(0)
    table = {"dose": rng.normal(size=41), "age": rng.normal(size=41), "batch": ["b"] * 41}
    table["state"] = ["ill", "well"] * 20 + ["lost"]
    effort = {"methods": ["anova"], "learners": ["knn"], "n_folds": 2, "n_repeats": 1, "n_permutations": 0}
    study = fewer.run_study(table, "state", n_jobs=1, **effort)
    (about,) = _Page(study_page(study.findings)).all("p", class_="about")
    assert ": 40 of 41 rows, 2 of 3 columns, target" in about["text"]


def test_folders_of_a_file_are_named_only_where_it_is_said_what_was_done(nasty_study):
    plan = replace(nasty_study.findings.plan, source="/home/me/t.csv", reading={"table": "/home/me/t.csv"})
    page = _Page(study_page(replace(nasty_study.findings, plan=plan)))
    assert page.all("p", class_="about")[0]["text"].startswith("Study of t.csv: ")
    assert page.all("title")[0]["text"].startswith("state in t.csv")
    assert any(each["text"].startswith("/home/me/t.csv, fingerprint") for each in page.all("dd"))


def test_every_number_says_how_it_was_obtained(page, nasty_study):
    numbers = page.all("button", class_="number")
    assert len(numbers) == sum(answer.number is not None for answer in nasty_study.findings.answers.values())
    asked = [button for button in page.all("button") if "aria-describedby" in button]
    assert len(page.all("button")) == len(asked) + len(page.all("button", class_="copy"))
    assert all(len(page.by_id(button["aria-describedby"])["text"]) > 5 for button in asked)


def test_a_critical_first_line_is_marked_and_leads_to_the_warnings(nasty_study):
    critical = Caution(
        "critical", "target leakage", {}, "x1 alone predicts the target.", "x1 predicts the target: check."
    )
    findings = nasty_study.findings
    careful = replace(findings.careful, cautions=(critical, *findings.cautions))
    changed = first_lines(replace(findings, answers={**findings.answers, "careful": careful}))
    assert changed.verdict[:2] == (critical.headline, critical.sentence)
    assert changed.verdict[2].startswith(findings.headline)
    page = _Page(study_page(changed))
    (first,) = page.all("div", class_="headline critical")
    assert first["text"].strip() == critical.headline
    assert [each["href"] for each in page.all("a", class_="more")] == ["#careful"]
    ids = {each.get("id") for each in page.elements}
    assert {each.get("aria-describedby") or each["data-copies"] for each in page.all("button")} <= ids


def _unpacked(script) -> str:
    text = zlib.decompress(b64decode(script["text"]), -zlib.MAX_WBITS)
    assert len(text) == int(script["data-size"])
    return text.decode()


def test_names_from_the_data_stay_text(page, nasty_study, nasty_names):
    assert len([each for each in page.all("script") if "type" not in each]) == 2
    (packed,) = page.all("script", type="text/plain")
    script = _unpacked(packed)
    assert script.startswith("/**\n* plotly.js (cartesian - minified) v3.0.1\n")
    assert sha256(script.encode()).hexdigest() == PLOTLY
    assert not page.all("img")
    assert not page.all("b")
    assert not page.all("i")
    assert not any(key.startswith("on") for each in page.elements for key in each if key not in ("tag", "text"))
    shown = [each["text"] for each in page.all("th", scope="row")]
    for name in nasty_names[:-1]:
        assert name in shown
    assert "bell\\x07 and \\x1b[31mred" in shown
    assert len(nasty_study.findings.chosen) >= 8


def test_figures_hold_no_markup_from_names(page):
    names = _figure(page, "frequency")["layout"]["yaxis"]["ticktext"]
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in name for name in names)
    assert not any("<" in name for name in names)
    assert all(len(name.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")) <= 36 for name in names)
    hovers = [text for trace in _figure(page, "frequency")["data"] for text in trace["hovertext"]]
    assert not any("<" in text for text in hovers)


def test_names_that_begin_alike_can_be_told_apart_in_figures():
    from fewer.report._study_numbers import plotly_text

    one, other = (plotly_text(f"{'the same beginning ' * 10}{end}") for end in ("ridge", "knn"))
    assert one.endswith("ridge")
    assert other.endswith("knn")


def test_plan_in_the_page_is_the_plan(report, nasty_study):
    assert Plan.load(report) == nasty_study.plan


def test_page_needs_nothing_else(page):
    assert not page.all("link")
    assert not any("src" in each for each in page.elements)
    assert all(each["href"].startswith("#") for each in page.elements if "href" in each)
    assert {each["href"][1:] for each in page.all("a")} <= {each.get("id") for each in page.elements}
    assert "@import" not in page.all("style")[0]["text"]
    assert "url(" not in page.all("style")[0]["text"]


def test_policy_lets_only_the_scripts_of_the_page_run(page):
    (policy,) = [each["content"] for each in page.all("meta", **{"http-equiv": "Content-Security-Policy"})]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    rule = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "unsafe" not in rule
    scripts = [each["text"] for each in page.all("script") if "type" not in each]
    scripts += [_unpacked(each) for each in page.all("script", type="text/plain")]
    hashes = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts}
    assert set(rule.split()[1:]) == hashes


def test_headings_landmarks_and_captions_are_in_order(page):
    levels = [int(each["tag"][1]) for each in page.elements if re.fullmatch(r"h[1-6]", each["tag"])]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for landmark in ("header", "nav", "main", "footer"):
        assert len(page.all(landmark)) == 1
    assert len(page.all("caption")) == len(page.all("table")) >= 4
    assert all(each.get("scope") in ("col", "row") for each in page.all("th"))
    ids = [each["id"] for each in page.elements if "id" in each]
    assert len(ids) == len(set(ids))
    assert page.all("html")[0]["lang"] == "en"


def test_every_picture_says_its_finding_in_words(page, nasty_study):
    plots = page.all("div", class_="plot")
    names = {each["id"] for each in plots}
    assert {
        "plot-first",
        "plot-labels",
        "plot-difference",
        "plot-curve",
        "plot-frequency",
        "plot-spreads",
        "plot-wrong",
        "plot-importance",
        "plot-roc",
        "plot-precision_recall",
        "plot-calibration",
    } <= names
    assert all(each["role"] == "img" and re.search(r"\d", each["aria-label"]) for each in plots)
    chosen = int(nasty_study.findings.how_few.number)
    assert f"The chosen number is {chosen:,}" in page.by_id("plot-first")["aria-label"]


def test_noise_leads_with_the_permutations(noise_study):
    assert noise_study.findings.learnable.verdict == "no"
    page = _Page(study_page(noise_study.findings))
    assert page.all("h1")[0]["text"].replace("\u00a0", " ") == noise_study.findings.headline
    assert page.all("h1")[0]["text"].startswith("There is no sign")
    assert page.all("div", class_="plot")[0]["id"] == "plot-first"
    assert _figure(page, "first")["data"] == _figure(page, "labels")["data"]
    assert _figure(page, "first")["data"][0]["type"] == "bar"
    asides = [each for each in page.all("p", class_="aside") if "not a finding" in each["text"]]
    assert len(asides) == 4


def test_bars_of_a_permutation_test_count_every_table_once_and_show_the_p_value(noise_study):
    findings = noise_study.findings
    figure = null_figure(findings, "labels")
    scores, observed = np.array(findings.nulls["labels"]["scores"]), findings.nulls["labels"]["observed"]
    bars = {trace.name: sum(trace.y) for trace in figure.data if trace.type == "bar"}
    assert sum(bars.values()) == len(scores)
    as_good = int((scores >= observed).sum())
    assert bars.get(f"as good or better: {as_good}", 0) == as_good
    assert findings.nulls["labels"]["p_value"] == (1 + as_good) / (1 + len(scores))


@pytest.mark.parametrize("observed", [-5.0, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["steps", "smooth", "one value"])
def test_histogram_holds_all_scores_wherever_the_observed_one_is(observed, kind):
    from fewer.report._study_figures import _bins

    rng = np.random.default_rng(0)
    scores = {
        "steps": rng.integers(20, 40, 200) / 60,
        "smooth": rng.normal(0.5, 0.05, 200),
        "one value": np.full(200, 0.5),
    }[kind]
    edges, _ = _bins(scores, observed)
    assert observed in edges
    assert np.histogram(scores, edges)[0].sum() == 200
    assert (np.histogram(scores, edges)[0] > 0).sum() <= 40
    assert np.histogram(scores, edges)[0][edges[:-1] >= observed].sum() == (scores >= observed).sum()


def test_twenty_thousand_columns_give_a_page_of_moderate_size(wide_study):
    text = study_page(wide_study.findings, wide_study.seconds)
    assert len(text.encode()) < 1_000_000  # half of it is plotly.js
    page = _Page(text)
    assert page.by_id("columns-title")["text"] == "The best 200 of 20,000 columns"
    assert len(page.all("th", scope="row")) >= 200


def test_table_of_columns_counts_those_of_the_table_where_new_ones_are_made(made_study):
    page = _Page(study_page(made_study.findings))
    assert page.by_id("columns-title")["text"] == "All 12 columns"


def test_untested_study_has_a_page_without_permutation_pictures(wide_study):
    page = _Page(study_page(wide_study.findings))
    names = {each["id"] for each in page.all("div", class_="plot")}
    assert "plot-first" in names
    assert not names & {"plot-labels", "plot-features_within_class"}


def test_run_again_names_the_table_that_came_from_memory(page):
    assert "fewer study TABLE --plan report.html" in [each["text"] for each in page.all("code")]


def test_summary_for_notebooks_is_short_and_escaped(nasty_study):
    html = study_summary_html(nasty_study.findings)
    assert "&lt;script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html
    assert len(html) < 6000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.352, "0.35 s"), (1.24, "1.2 s"), (9.96, "10 s"), (59.7, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds, words):
    assert duration(seconds) == words


def _luminance(colour: str) -> float:
    colour = colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_contrast_in_light_dark_and_on_paper():
    css = (files("fewer.report") / "templates" / "study.css").read_text(encoding="utf-8")
    modes = [
        dict(re.findall(r"--(\w+): (#\w+)", block)) for block in re.findall(r":root[^ ]* \{(.*?)\}", css, re.DOTALL)
    ]
    assert len(modes) == 4
    for mode in modes:
        for text in ("ink", "soft", "accent", "critical", "warning", "good"):
            for ground in ("paper", "tint", "shade"):
                bright, dim = sorted((_luminance(mode[text]), _luminance(mode[ground])), reverse=True)
                assert (bright + 0.05) / (dim + 0.05) >= 4.5, (text, ground)


def test_long_names_of_candidates_take_two_lines_on_narrow_screens(page):
    meta = _figure(page, "difference")["layout"]["meta"]
    assert all(part and len(part) <= 19 for text in meta["narrow"]["yaxis.ticktext"] for part in text.split("<br>"))
    assert not any("<br>" in text for text in meta["wide"]["yaxis.ticktext"])


def test_options_in_sentences_are_not_broken_and_stay_harmless():
    from fewer.report._study_page import _said

    said = str(_said("try --impute PCAMissing or <b>a--b</b>."))
    assert said == 'try <span class="option">--impute</span> PCAMissing or &lt;b&gt;a--b&lt;/b&gt;.'
