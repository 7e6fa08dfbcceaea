"""The plan inside of a report is found there again."""

import pytest

from fewer.study import StudyError
from fewer.study._plan_file import PLAN_ELEMENT, plan_text


def test_a_plan_is_read_from_its_file_and_from_a_report(tmp_path):
    plan, report = tmp_path / "plan.json", tmp_path / "report.HTML"
    plan.write_text('{"a": 1}')
    report.write_text(f'<p>\n<script type="application/json" id="{PLAN_ELEMENT}">{{\n"a": 1}}</script></p></script>')
    assert plan_text(plan) == '{"a": 1}'
    assert plan_text(report) == '{\n"a": 1}'


def test_what_holds_no_plan_is_told(tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "picture.png"
    page.write_text("<p>Hello</p>")
    picture.write_bytes(b"\xff\xfe\xfd")
    for path, told in [
        (page, "is not a report of a study"),
        (picture, "contains no plan"),
        (tmp_path / "nothing.json", "cannot be read: No such file"),
    ]:
        with pytest.raises(StudyError, match=told):
            plan_text(path)
