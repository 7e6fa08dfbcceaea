"""Every claim of the literature that is built has a test, and every such test a claim."""

import re

import pytest

from claims import PAPERS, Claim, Result, carried_claims, evidence_page, read_claims, unsettled_claims


def test_every_claim_has_a_test_and_every_test_a_claim():
    assert unsettled_claims(read_claims(), carried_claims()) == []


def test_a_claim_without_a_test_is_found(tmp_path):
    (tmp_path / "claims.toml").write_text('[[paper]]\nnumber = 1\nclaim = "Two is more than one."\n')
    assert unsettled_claims(read_claims(tmp_path / "claims.toml"), carried_claims(tmp_path)) == [
        "claim 1 of 'paper' has no test"
    ]


def test_a_test_for_an_unknown_claim_is_found(tmp_path):
    (tmp_path / "test_paper.py").write_text('@pytest.mark.claim("paper", 7)\ndef test_it(): ...\n')
    (complaint,) = unsettled_claims({}, carried_claims(tmp_path))
    assert "test_paper.py:1 tests claim 7 of 'paper'" in complaint


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ('[[p]]\nnumber=1\nclaim="a"\n[[p]]\nnumber=1\nclaim="b"\n', "listed twice"),
        ('[[p]]\nnumber=1\nclaim="a"\nverdict="wrong"\n', "what was measured"),
    ],
)
def test_a_bad_entry_is_refused(tmp_path, entries, complaint):
    (tmp_path / "claims.toml").write_text(entries)
    with pytest.raises(ValueError, match=complaint):
        read_claims(tmp_path / "claims.toml")


def test_the_page_shows_failures_and_claims_that_proved_wrong():
    claims = {
        ("p", 1): Claim("p", 1, "holds"),
        ("p", 2): Claim("p", 2, "fails"),
        ("p", 3): Claim("p", 3, "is wrong in print", "wrong", "0.7, not 0.9"),
        ("p", 4): Claim("p", 4, "was forgotten"),
    }
    results = [
        Result("p", 1, "test_a[x]", "passed", "0.99"),
        Result("p", 1, "test_a[y]", "passed"),
        Result("p", 2, "test_b", "failed"),
        Result("p", 3, "test_c", "passed"),
    ]
    rows = [line for line in evidence_page(claims, results).splitlines() if line[:3] in ("| 1", "| 2", "| 3", "| 4")]
    assert rows == [
        "| 1 | holds | `test_a` | passed | 0.99 |",
        "| 2 | fails | `test_b` | **failed** |  |",
        "| 3 | is wrong in print | `test_c` | wrong; test of what holds passed | measured instead: 0.7, not 0.9 |",
        "| 4 | was forgotten |  | **not run** |  |",
    ]


def test_rows_of_claims_that_were_not_run_stay_if_the_claim_is_the_same():
    claims = {("p", 1): Claim("p", 1, "holds | always"), ("p", 2): Claim("p", 2, "was run again")}
    old = evidence_page(claims, [Result("p", 1, "test_a", "passed", "0.99"), Result("p", 2, "test_b", "failed")])
    again = [Result("p", 2, "test_b", "passed")]
    page = evidence_page(claims, again, old)
    assert "| 1 | holds \\| always | `test_a` | passed | 0.99 |" in page
    assert "| 2 | was run again | `test_b` | passed |  |" in page
    changed = claims | {("p", 1): Claim("p", 1, "holds now")}
    assert "| 1 | holds now |  | **not run** |  |" in evidence_page(changed, again, old)


def test_the_page_of_evidence_has_every_paper():
    page = (PAPERS.parents[1] / "docs" / "evidence.md").read_text(encoding="utf-8")
    assert {key for key, _ in read_claims()} == set(re.findall(r"^## (\S+)$", page, re.MULTILINE))
