import numpy as np
import pytest

from fewer.extract.information._im_algorithm import Ascent


def valley(x):
    """Minus the function of Rosenbrock: a curved ridge, with its top at (1, 1)."""
    a, b = x
    value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
    return -value, -np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])


def test_the_top_of_a_curved_ridge_is_found_and_no_move_goes_down():
    ascent = Ascent(valley, np.array([-1.2, 1.0]))
    values = [ascent.value]
    for _ in range(12):
        ascent.move(5)
        values.append(ascent.value)
    np.testing.assert_allclose(ascent.x, 1, atol=1e-5)
    assert (np.diff(values) >= 0).all()
    ascent.move(5)
    np.testing.assert_allclose(ascent.x, 1, atol=1e-5)


def test_it_stays_where_the_function_has_a_value():
    seen = []

    def logarithm(x):
        seen.append(x[0])
        return (np.log(x[0]) - x[0], 1 / x - 1) if x[0] > 0 else (-np.inf, np.ones(1))

    ascent = Ascent(logarithm, np.array([5.0]))
    ascent.move(30)
    assert ascent.x[0] == pytest.approx(1, abs=1e-6)
    far = Ascent(lambda x: (-np.inf, np.ones(1)) if x[0] > 1 + 1e-3 else (float(x[0]), np.ones(1)), np.array([1.0]))
    far.move(3)
    assert 1 < far.x[0] <= 1 + 1e-3


def test_it_goes_on_with_a_function_that_has_changed():
    centre = np.zeros(3)

    def hill(x):
        return -float(np.sum(np.array([1, 10, 100]) * (x - centre) ** 2)), -2 * np.array([1, 10, 100]) * (x - centre)

    ascent = Ascent(hill, np.ones(3))
    ascent.move(20)
    centre = np.array([1.0, -1.0, 2.0])
    ascent.turn_to(hill)
    ascent.move(20)
    np.testing.assert_allclose(ascent.x, centre, atol=1e-6)
