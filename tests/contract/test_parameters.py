"""One name for one meaning: every public parameter is on a list, and a second name for the same is refused.

``parameters.toml`` has the meaning of each name (``[meaning]``), the names that are not used with the right one instead
(``[instead]``), and where such a name is right all the same, with the reason (``[[exception]]``).
"""

import importlib
import inspect
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("parameters.toml")
ROOMS = (
    "select",
    "extract",
    "latent",
    "complete",
    "graph",
    "learn",
    "theory",
    "evaluate",
    "datasets",
    "overview",
    "io",
)


def public_parameters():
    """Names of the parameters of all public estimators and functions, each with who has it."""
    found = defaultdict(set)
    for room in ROOMS:
        module = importlib.import_module(f"fewer.{room}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) and not hasattr(thing, "get_params"):
                continue  # what functions return
            if not callable(thing) or (not inspect.isroutine(thing) and not inspect.isclass(thing)):
                continue
            for parameter in inspect.signature(thing).parameters.values():
                if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    found[parameter.name].add(f"{room}.{name}")
    return found


@pytest.fixture(scope="module")
def listed():
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def used():
    return public_parameters()


def test_every_public_parameter_has_a_meaning_on_the_list(listed, used):
    unknown = {name: sorted(used[name])[:3] for name in used.keys() - listed["meaning"].keys()}
    assert not unknown, "add the meaning to tests/contract/parameters.toml, or take a name that is there"


def test_the_list_has_no_name_that_is_not_used(listed, used):
    assert not listed["meaning"].keys() - used.keys()
    assert all(each["where"] in used[each["name"]] for each in listed["exception"])


def test_no_two_names_have_one_meaning(listed):
    names = defaultdict(list)
    for name, meaning in listed["meaning"].items():
        names[meaning.lower()].append(name)
    assert not [each for each in names.values() if len(each) > 1]


def test_names_that_another_one_replaces_are_used_only_where_the_list_says_why(listed, used):
    excused = {(each["name"], each["where"]) for each in listed["exception"]}
    assert all(each["why"] for each in listed["exception"])
    found = {(name, where) for name in listed["instead"] for where in used.get(name, ())}
    assert found == excused, {name: listed["instead"][name] for name, _ in found - excused}
