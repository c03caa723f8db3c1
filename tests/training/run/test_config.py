"""The settings that a run was made with: in its status, its folder, lists of runs and HParams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import keras
import pytest

import nbtrain
from nbtrain.notebook.run_tree import tree
from nbtrain.panel.live.view import fields
from nbtrain.rundir import status_file
from nbtrain.terminal.listing import fields_of
from tests.fitted import X, Y, classifier
from tests.gate import SOON
from tests.models import Counter


def trained(name: str, **options: Any) -> Any:
    return nbtrain.train(Counter().step, steps=3, name=name, **options).wait(SOON)


def test_a_run_tells_its_config_to_its_kernel_and_to_others() -> None:
    run = trained("mine", config={"units": 64, "data": {"name": "digits"}})
    config = {"units": 64, "data.name": "digits"}
    assert run.status.config == config
    assert nbtrain.attach(run.logdir).status.config == config
    sign = status_file.read(run.logdir)
    assert json.loads(json.dumps(fields_of(run.logdir, sign, sign.status)))["config"] == config
    assert fields(run.status)["config"] == {
        "entries": [["units", "64"], ["data.name", "digits"]],
        "more": 0,
    }


def test_a_later_start_keeps_the_entries_that_it_does_not_give() -> None:
    trained("mine", config={"units": 64, "dropout": 0.1})
    assert trained("mine").status.config == {"units": 64, "dropout": 0.1}
    again = trained("mine", config={"dropout": 0.2})
    assert again.status.config == {"units": 64, "dropout": 0.2}
    assert again.start().wait(SOON).status.config == {"units": 64, "dropout": 0.2}
    fresh = trained("mine", config={"layers": 2}, fresh=True)
    assert fresh.status.config == {"layers": 2}


def test_a_run_without_a_config_has_none() -> None:
    run = trained("mine")
    assert run.status.config == {}
    assert fields(run.status)["config"] is None
    assert not nbtrain.hparams("runs").rows


def test_a_large_config_is_shown_in_part() -> None:
    run = trained("mine", config={f"n{number}": number for number in range(150)})
    shown: Any = fields(run.status)["config"]
    assert (len(shown["entries"]), shown["more"]) == (100, 50)


def test_a_list_of_runs_shows_by_which_entries_they_differ() -> None:
    trained("a", config={"units": 64, "act": "relu"})
    assert tree().splitlines()[1].endswith("  units=64, act=relu")
    trained("b", config={"units": 32, "act": "relu", "dropout": 0.5}, tags=["small"])
    trained("c")
    rows = [line.split("  ") for line in tree().splitlines()]
    shown = [[word.strip() for word in row if word.strip()][3:] for row in rows]
    assert shown == [
        ["branch", "config", "tags"],
        ["units=64, act=relu"],
        ["units=32, act=relu, dropout=0.5", "small"],
        [],
    ]
    found = tree(search="Units=32").splitlines()
    assert [line.split()[0] for line in found] == ["run", "b"]


def test_runs_are_compared_by_their_configs_in_hparams() -> None:
    trained("a", config={"units": 64, "act": "relu", "bias": True})
    trained("b", config={"units": 32})
    table = nbtrain.hparams("runs")
    assert [row.hparams for row in table.rows] == [
        {"units": 64.0, "act": "relu", "bias": True},
        {"units": 32.0},
    ]


def rated(rate: Any) -> Any:
    model = classifier()
    model.compile(rate, model.loss, metrics=["accuracy"], jit_compile=False)
    return model


def test_a_fit_knows_how_its_model_is_compiled() -> None:
    model = rated(keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True))
    run = nbtrain.fit(model, X, Y, epochs=1, name="fit", config={"seed": 3, "epochs": "one"})
    assert run.wait(SOON).status.config == {
        "seed": 3,
        "epochs": "one",
        "optimizer": "SGD",
        "optimizer.nesterov": True,
        "loss": "sparse_categorical_crossentropy",
        "batch_size": 32,
        "parameters": model.count_params(),
        "layers": 3,
    }
    (row,) = nbtrain.hparams("runs").rows
    assert {"learning_rate", "momentum"} <= row.hparams.keys()
    assert not [name for name in row.metrics if name.startswith("hyperparameters/")]


def test_a_fit_knows_the_numbers_of_its_schedule_and_the_losses_of_its_outputs() -> None:
    inputs = keras.Input((X.shape[1],))
    model = keras.Model(inputs, {"a": keras.layers.Dense(1)(inputs)})
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 100)
    model.compile(keras.optimizers.Adam(schedule, use_ema=True), {"a": "mse"}, jit_compile=False)
    config = nbtrain.fit(model, X, {"a": Y}, batch_size=45, name="f").wait(SOON).status.config
    assert config["optimizer.learning_rate"] == "CosineDecay"
    assert config["optimizer.learning_rate.decay_steps"] == 100
    assert config["optimizer.use_ema"] is True
    assert (config["loss.a"], config["batch_size"], config["epochs"]) == ("mse", 45, 1)


def test_what_a_fit_knows_by_itself_never_refuses_it() -> None:
    given = {f"n{number}": number for number in range(500)}
    inputs = keras.Input((X.shape[1],))
    model = keras.Model(inputs, {"x" * 200: keras.layers.Dense(1)(inputs)})
    model.compile("sgd", {"x" * 200: "mse"}, jit_compile=False)
    run = nbtrain.fit(model, X, {"x" * 200: Y}, name="fit", config=given).wait(SOON)
    assert given.items() < run.status.config.items()
    assert run.status.config["optimizer"] == "SGD"


@pytest.mark.parametrize("line", ['{"event": "start", "step": 0, "config": [1]}', "{"])
def test_a_damaged_config_in_the_folder_harms_no_start(line: str) -> None:
    run = trained("mine", config={"units": 64})
    with Path(run.logdir / "steering.jsonl").open("a") as file:
        file.write(f"{line}\n")
    assert trained("mine").status.config == {"units": 64}


def test_the_entries_by_which_runs_differ_come_first_in_hparams() -> None:
    trained("a", config={"act": "relu", "layers": 2, "units": 64})
    trained("b", config={"act": "relu", "units": 32, "layers": 2, "bias": True})
    assert nbtrain.hparams("runs").hparams == ["bias", "units", "act", "layers"]
