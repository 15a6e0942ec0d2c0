"""What a flow refuses, and what importing the layer needs."""

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict

import jax
import jax.numpy as jnp
import pytest

from deciban.exceptions import InputError
from deciban.flows import Flow, double_precision


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_features": 0}, "n_features must be a whole number, 1 or more; got 0."),
        ({"n_features": 2.0}, "n_features must be a whole number, 1 or more; got 2.0."),
        ({"n_features": True}, "n_features must be a whole number, 1 or more; got True."),
        ({"n_couplings": -1}, "n_couplings must be a whole number, 0 or more; got -1."),
        ({"width": 0}, "width must be a whole number, 1 or more; got 0."),
        ({"depth": 0}, "depth must be a whole number, 1 or more; got 0."),
        ({"bins": 1}, "bins must be a whole number from 2 to 500; got 1."),
        ({"bins": 501}, "bins must be a whole number from 2 to 500; got 501."),
        ({"seed": None}, "seed must be a whole number, 0 or more; got None."),
        ({"bound": 0.0}, "bound must be a finite number above 0; got 0.0."),
        ({"bound": float("inf")}, "bound must be a finite number above 0; got inf."),
        ({"log_scale_bound": "3"}, "log_scale_bound must be a finite number above 0; got '3'."),
        ({"kind": "quadratic"}, "kind must be one of affine, spline; got 'quadratic'."),
        ({"mixing": "reverse"}, "mixing must be one of random, linear; got 'reverse'."),
    ],
)
def test_settings_that_make_no_flow_are_refused(settings, message):
    with pytest.raises(InputError) as caught:
        Flow(**{"n_features": 3, **settings})
    assert str(caught.value).startswith(message)


def test_a_flow_is_immutable_hashable_and_stores_as_json():
    flow = Flow(3, kind="spline")
    with pytest.raises(FrozenInstanceError):
        flow.width = 3
    again = Flow(**json.loads(json.dumps(asdict(flow))))
    assert again == flow
    assert hash(again) == hash(flow)


def test_without_jax_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['jax'] = None\n"
        "import deciban\n"
        "from deciban.exceptions import MissingExtraError\n"
        "try:\n"
        "    deciban.CompositionalDiscriminantAnalysis\n"
        "except MissingExtraError as error:\n"
        "    print(error.extra, error, sep='|')\n"
        "from deciban import *"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    extra, message = done.stdout.strip().split("|")
    assert extra == "flow"
    assert message.endswith("Run: pip install 'deciban[flow]'")


def test_double_precision_is_found_where_older_jax_had_it(monkeypatch):
    if hasattr(jax, "enable_x64"):
        newer = jax.enable_x64
        monkeypatch.delattr(jax, "enable_x64")
        monkeypatch.setattr(jax.experimental, "enable_x64", newer, raising=False)
    with double_precision():
        assert jnp.ones(1).dtype == jnp.float64
    assert jnp.ones(1).dtype == jnp.float32
