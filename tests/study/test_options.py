"""Every option is declared once: the command line, Python and the plan have the same ones."""

import inspect
from dataclasses import fields

import pytest
from typer.main import get_command

import fewer
from fewer._options import OPTIONS, options_of
from fewer.cli import app
from fewer.io import read_table
from fewer.study import Plan, StudyError, make_plan, study_data


def test_every_option_is_in_python_and_on_the_command_line():
    typed = {word for each in get_command(app).commands["study"].params for word in (*each.opts, *each.secondary_opts)}
    python = inspect.signature(fewer.run_study).parameters
    for option in OPTIONS:
        assert option.option in typed
        assert option.name in python
        if option.group == "plan":
            assert inspect.signature(make_plan).parameters[option.name].default == option.default
            assert f"{option.name} : {option.kind}" in make_plan.__doc__
        if option.group == "reading":
            assert option.name in inspect.signature(read_table).parameters
    assert {each.name: each.default for each in fields(Plan)}["margin"] == 0.1
    assert "margin : float" in Plan.__doc__


def test_an_unknown_option_is_a_type_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'fold'"):
        make_plan(None, fold=3)


def test_errors_name_parameters_as_python_does(make_table):
    data = study_data(make_table())
    with pytest.raises(StudyError, match=r"^n_folds must be at least 2"):
        make_plan(data, n_folds=1)
    with pytest.raises(fewer.io.TableError, match=r"\(given by target=\)"):
        fewer.run_study("dataset:iris", target="petal")


def test_plan_options_are_those_of_the_plan_or_of_its_candidates():
    names = {option.name for option in options_of("plan")}
    assert names - {each.name for each in fields(Plan)} == {"methods", "learners", "sizes"}
