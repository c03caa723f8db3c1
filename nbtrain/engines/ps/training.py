"""Makes the run of `nbtrain.train(build, cluster=...)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtrain.cluster.description import described
from nbtrain.core.errors import ArgumentError
from nbtrain.engines.ps.engine import ParameterServerEngine
from nbtrain.engines.signatures import check_call
from nbtrain.run.evaluator import Evaluation
from nbtrain.run.run import Run
from nbtrain.steer.options import RunOptions, Settings, folder_of


def on_cluster(
    cluster: Any,
    build: Any,
    data: Any,
    settings: Settings,
    options: RunOptions,
    *,
    evaluate: Evaluation | None,
    refused: Mapping[str, object],
) -> Run:
    """Returns the run, not started.

    Args:
        cluster: The cluster.
        build: Creates the variables; returns the step, the checkpoint and the hyperparameters.
        data: Returns the dataset of a worker; None for none.
        settings: How long to train and when to save.
        options: The options; the folder and the name are read here.
        evaluate: Evaluates the model; None if there is nothing to evaluate.
        refused: Arguments that must be None on a cluster, by name.

    Raises:
        ArgumentError: An argument cannot be used; nothing was created.
    """
    described(cluster).require("ps", "worker")
    advice = (
        "with cluster=, give a function without arguments that creates the variables and returns "
        "the step, the checkpoint and the hyperparameters, such as (step, checkpoint, {...})."
    )
    check_call("build", build, advice=advice)
    for argument, given in refused.items():
        if given is not None:
            more = "" if argument == "epochs" else ": return it from build()"
            raise ArgumentError(f"{argument}= cannot be given with cluster={more}.")
    if data is not None:
        advice = (
            "with cluster=, give a function without arguments that returns a tf.data.Dataset; "
            "each worker calls it."
        )
        check_call("data", data, advice=advice)
    folder = folder_of(options, kind="train")
    engine = ParameterServerEngine(
        cluster, build, data, folder.checkpoints, keep=settings.keep, evaluate=evaluate
    )
    return Run(engine, folder, settings)
