"""Objects that a training reaches by names, and the pause of a run whose names are rebound."""

from __future__ import annotations

import functools
import textwrap
from typing import Any

import pytest
import tensorflow as tf

import nbtrain
from nbtrain.core.errors import BusyError
from nbtrain.core.states import Phase
from nbtrain.run.program.bindings import Bindings
from tests.gate import SOON, Gate
from tests.models import Line, applied, reached, refused

MODEL = """
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    x = tf.ones((4, 2))
    rate = 0.5
"""
STEP = """
    def scaled(loss):
        return loss * rate

    def step():
        with tf.GradientTape() as tape:
            loss = scaled(tf.reduce_mean(model(x) ** 2))
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return {"loss": loss}
"""


class Notebook(dict[str, Any]):
    """The names of a notebook, and its cells."""

    def __init__(self, *cells: str) -> None:
        super().__init__(__name__="__main__")
        for cell in cells:
            self.cell(cell)

    def cell(self, source: str) -> None:
        """Run a cell."""
        exec(textwrap.dedent(source), self)


def ids(objects: list[object]) -> set[int]:
    return {id(item) for item in objects}


# --- what is bound anew ---------------------------------------------------------


def test_a_cell_that_is_run_again_binds_a_new_model() -> None:
    notebook = Notebook(MODEL, STEP)
    names = Bindings([notebook["step"]])
    assert names.rebound() == ()
    notebook.cell(MODEL)
    assert names.rebound() == ("model", "optimizer")


def test_a_name_rebound_to_the_old_object_counts_as_unchanged() -> None:
    notebook = Notebook(MODEL, STEP)
    names = Bindings([notebook["step"]])
    old = notebook["model"]
    notebook["model"] = tf.keras.Sequential()
    assert names.rebound() == ("model",)
    notebook["model"] = old
    assert names.rebound() == ()


def test_numbers_data_and_functions_may_change_while_a_run_trains() -> None:
    notebook = Notebook(MODEL, STEP)
    names = Bindings([notebook["step"]])
    notebook.cell("rate = 0.1; x = tf.zeros((8, 2))")
    notebook.cell(STEP)
    assert names.rebound() == ()
    notebook.cell("optimizer = tf.keras.optimizers.SGD(0.1)")
    assert names.rebound() == ("optimizer",)


def test_a_function_that_comes_to_reach_another_model_is_found() -> None:
    notebook = Notebook(MODEL, STEP)
    names = Bindings([lambda: notebook["step"](), notebook["step"]])
    notebook.cell("""
        other = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        def scaled(loss):
            return loss + sum(other.losses)
    """)
    assert names.rebound() == ("scaled",)


def test_a_function_that_was_traced_looks_up_no_name_again() -> None:
    notebook = Notebook(MODEL, STEP, "compiled = tf.function(step)", "def outer(): compiled()")
    inner, outer = Bindings([notebook["compiled"]]), Bindings([notebook["outer"]])
    notebook.cell(MODEL)
    assert inner.rebound() == outer.rebound() == ()
    notebook.cell("compiled = tf.function(step)")
    assert inner.rebound() == ()
    assert outer.rebound() == ("compiled",)


def test_a_name_that_the_program_itself_rebinds_does_not_pause_the_run() -> None:
    notebook = Notebook(MODEL)
    notebook.cell("""
        def step():
            global model
            model = tf.keras.Sequential()
            return model
    """)
    names = Bindings([notebook["step"]])
    notebook["step"]()
    assert names.rebound() == ()


def test_a_placeholder_is_looked_after_like_a_model() -> None:
    graph = """
        import tensorflow as tf
        with tf.Graph().as_default():
            x = tf.compat.v1.placeholder(tf.float32)
    """
    notebook = Notebook(graph, "feed = lambda: {x: 1.0}")
    names = Bindings([notebook["feed"]])
    notebook.cell(graph)
    assert names.rebound() == ("x",)


# --- what is trained ------------------------------------------------------------


def reaching(notebook: Notebook) -> dict[str, Any]:
    """Functions that train the notebook's model, each reaching it in another way."""
    step = notebook["step"]
    notebook.cell("""
        import functools

        class Trainer:
            def __init__(self):
                self.optimizer = optimizer
            def step(self):
                return self.optimizer.iterations
            def __call__(self):
                return self.optimizer.iterations

        def of_closure(optimizer):
            return lambda: optimizer.iterations

        class Traced(Trainer):
            @tf.function
            def step(self):
                return self.optimizer.iterations
            def again(self):
                return self.step()

        class Module(tf.Module):
            step = Traced.step

            def __init__(self):
                super().__init__()
                self.optimizer = optimizer

        class Slotted:
            __slots__ = ("unused",)
            def step(self):
                return trainer.optimizer.iterations

        trainer, traced, module, slotted = Trainer(), Traced(), Module(), Slotted()
        by_object = lambda: trainer.step()
        by_module = lambda: module.step()
        by_method = lambda: slotted.step()
        parts = {"optimizers": [optimizer]}
        by_container = lambda: parts["optimizers"][0].iterations

        @functools.wraps(step)
        def wrapped():
            return {}
    """)
    return {
        "name": step,
        "lambda": eval("lambda: step()", notebook),
        "compiled": tf.function(step),
        "closure": notebook["of_closure"](notebook["optimizer"]),
        "method": notebook["trainer"].step,
        "traced method": notebook["traced"].step,
        "method that calls a traced one": notebook["traced"].again,
        "traced method of a module": notebook["module"].step,
        "module": notebook["by_module"],
        "method that is called": notebook["by_method"],
        "callable object": notebook["trainer"],
        "object": notebook["by_object"],
        "container": notebook["by_container"],
        "partial": functools.partial(lambda optimizer: None, notebook["optimizer"]),
        "wrapped": notebook["wrapped"],
    }


@pytest.mark.parametrize(
    "way",
    [
        "name",
        "lambda",
        "compiled",
        "closure",
        "method",
        "traced method",
        "method that calls a traced one",
        "traced method of a module",
        "module",
        "method that is called",
        "callable object",
        "object",
        "container",
        "partial",
        "wrapped",
    ],
)
def test_the_optimizer_and_its_variables_are_trained(way: str) -> None:
    notebook = Notebook(MODEL, STEP)
    trained = ids(Bindings([reaching(notebook)[way]]).trained())
    assert id(notebook["optimizer"]) in trained
    assert ids(notebook["model"].trainable_variables) <= trained


def test_a_model_that_is_only_read_is_not_trained() -> None:
    notebook = Notebook(MODEL, STEP, "teacher = tf.keras.Sequential([tf.keras.layers.Dense(1)])")
    notebook.cell("""
        teacher.compile("sgd")
        teacher.build((4, 2))
        def distilled():
            return step(), teacher(x)
    """)
    trained = ids(Bindings([notebook["distilled"]]).trained())
    assert not ids([notebook["teacher"], *notebook["teacher"].variables]) & trained
    assert id(notebook["optimizer"]) in trained


@pytest.mark.parametrize(
    "step", ["lambda: model.train_on_batch(x, x)", "functools.partial(model.train_on_batch, x, x)"]
)
def test_a_compiled_model_that_is_trained_by_its_own_method_is_trained(step: str) -> None:
    notebook = Notebook(MODEL, "import functools", "model.compile(optimizer)", f"step = {step}")
    assert id(notebook["optimizer"]) in ids(Bindings([notebook["step"]]).trained())


def test_a_variable_that_a_function_assigns_to_is_trained() -> None:
    notebook = Notebook("import tensorflow as tf", "count, other = tf.Variable(0), tf.Variable(0)")
    notebook.cell("read = lambda: other.read_value()")
    notebook.cell("step = lambda: (count.assign_add(1), read())")
    assert ids(Bindings([notebook["step"]]).trained()) == {id(notebook["count"])}


def test_a_walk_through_the_users_own_object_ends() -> None:
    notebook = Notebook("""
        class Node:
            def __init__(self, left=None):
                self.left = left
                self.itself = self
        tree = None
        for _ in range(100_000):
            tree = Node(tree)
        step = lambda: tree
    """)
    assert Bindings([notebook["step"]]).trained() == []


@pytest.mark.parametrize("name", ["optimizer", "apply_gradients", "trainable_variables"])
def test_an_attribute_that_raises_reaches_nothing(name: str) -> None:
    notebook = Notebook(f"""
        import tensorflow as tf
        class Model(tf.Module):
            @property
            def {name}(self):
                raise RuntimeError("not built yet")
            def fit(self):
                count.assign_add(1)
        model, count = Model(), tf.Variable(0)
        def step():
            model.fit()
            count.assign_add(1)
    """)
    assert id(notebook["count"]) in ids(Bindings([notebook["step"]]).trained())


def test_variables_that_are_named_by_a_method_are_not_reached() -> None:
    notebook = Notebook("""
        import tensorflow as tf
        class Model(tf.Module):
            def trainable_variables(self):
                return [count]
        model, count = Model(), tf.Variable(0)
        def step():
            model, count.assign_add(1)
    """)
    assert id(notebook["count"]) in ids(Bindings([notebook["step"]]).trained())


# --- what becomes of a run ------------------------------------------------------

WEIGHT = "import tensorflow as tf; weight = tf.Variable(0.0)"
GATED = """
    def step():
        gate()
        weight.assign_add(1.0)
        return {"weight": weight.read_value()}
"""


def held(gate: Gate) -> tuple[Notebook, nbtrain.Run]:
    """A notebook, and its run that stands at the gate in its first step."""
    notebook = Notebook(WEIGHT, GATED)
    notebook["gate"] = gate
    checkpoint = tf.train.Checkpoint(weight=notebook["weight"])
    run = nbtrain.train(notebook["step"], checkpoint=checkpoint, name="held")
    gate.wait_for_arrivals()
    return notebook, run


def test_a_run_pauses_by_itself_when_its_variable_is_rebound(gate: Gate) -> None:
    notebook, run = held(gate)
    gate.open()
    reached(run, lambda run: run.status.step > 3)
    notebook.cell(WEIGHT)
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    message = str(run.status.message)
    assert message.startswith(f"Paused at step {run.status.step:,}: weight is no longer what")
    run.request_stop()
    run.wait(SOON)
    assert run.status.phase is Phase.STOPPED
    assert run.status.message is None  # nobody can resume it


def test_a_run_is_resumed_once_its_names_are_bound_to_the_old_again(gate: Gate) -> None:
    notebook, run = held(gate)
    old = notebook["weight"]
    pause = run.pause()
    gate.allow()
    applied(pause)
    notebook.cell(WEIGHT)
    outcome = refused(run.resume())
    assert outcome.text.startswith("Cannot resume: weight is no longer what the run started with;")
    assert notebook["weight"].numpy() == 0.0
    notebook["weight"] = old
    applied(run.resume())
    gate.open()
    reached(run, lambda run: run.status.step > 3)
    assert run.status.message is None
    run.request_stop()
    run.wait(SOON)
    assert old.numpy() == run.status.step


def test_a_run_that_fails_over_a_name_says_so(gate: Gate) -> None:
    notebook, run = held(gate)
    notebook.cell("weight = tf.Variable('no number')")
    gate.open()
    with pytest.raises(Exception, match="string"):
        run.wait(SOON)
    assert run.status.phase is Phase.FAILED
    assert "weight is no longer what the run started with" in str(run.status.message)


def test_a_second_run_cannot_train_a_model_that_a_live_run_has_begun_to_train(gate: Gate) -> None:
    notebook, run = held(gate)
    notebook.cell(WEIGHT)
    notebook.cell(GATED)
    checkpoint = tf.train.Checkpoint(weight=notebook["weight"])
    with pytest.raises(BusyError, match="'held' is still training this model"):
        nbtrain.train(notebook["step"], checkpoint=checkpoint)
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_a_step_without_a_checkpoint_is_trained_once_at_a_time(gate: Gate) -> None:
    notebook, run = held(gate)
    notebook.cell(GATED)
    for step in (notebook["step"], eval("lambda: step()", notebook)):
        with pytest.raises(BusyError, match="still training this model"):
            nbtrain.train(step)
    gate.open()
    run.request_stop()
    run.wait(SOON)


def test_two_models_learn_from_one_teacher_at_the_same_time() -> None:
    teacher = Line()

    def student() -> Any:
        line = Line(compiled=True)
        return tf.function(
            lambda: {**line.step(), "teacher": tf.reduce_sum(teacher.model.weights[0])}
        )

    runs = [nbtrain.train(student(), steps=3) for _ in range(2)]
    assert [run.wait(SOON).status.phase for run in runs] == [Phase.FINISHED] * 2


# --- a start cell that runs again ---------------------------------------------------------

AGAIN = """
    import tensorflow as tf, nbtrain
    opt = tf.keras.optimizers.SGD(0.01)
    M = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    opt.build(M.trainable_variables)

    @tf.function
    def st(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(M(batch) ** 2)
        opt.apply(tape.gradient(loss, M.trainable_variables), M.trainable_variables)
        return {"loss": loss}

    data = [tf.ones((2, 2))]
    checkpoint = tf.train.Checkpoint(M=M, opt=opt)
    run = nbtrain.train(st, data=lambda: iter(data), checkpoint=checkpoint, name="reb")
"""


def test_a_start_cell_that_runs_again_is_told_which_names_are_new_at_once() -> None:
    notebook = Notebook(AGAIN)
    run, model = notebook["run"], notebook["M"]
    reached(run, lambda run: run.status.step > 3)
    with pytest.raises(
        BusyError, match=r"'reb' in this kernel.*In the notebook M and opt stand for something new"
    ) as busy:
        notebook.cell(AGAIN)
    assert "stop it, wait for its end, and run the cell again" in str(busy.value)
    reached(run, lambda run: "M and opt stand for something new" in str(run.status.message))
    step = run.status.step
    reached(run, lambda run: run.status.step > step)  # the step was traced: it goes on
    applied(run.request_stop())
    run.wait(SOON)
    notebook.cell(AGAIN)
    again = notebook["run"]
    reached(again, lambda again: again.status.step > run.status.step)
    applied(again.request_stop())
    again.wait(SOON)
    assert notebook["M"] is not model
    assert again.status.message is None


def test_a_step_that_is_traced_again_with_what_names_stand_for_now_pauses_the_run() -> None:
    notebook = Notebook(AGAIN)
    run = notebook["run"]
    reached(run, lambda run: run.status.step > 3)
    notebook.cell("""
        opt = tf.keras.optimizers.SGD(0.01)
        M = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
        opt.build(M.trainable_variables)
    """)
    reached(run, lambda run: "M and opt stand for something new" in str(run.status.message))
    assert run.status.phase is Phase.RUNNING
    notebook.cell("data[:] = [tf.ones((3, 2))]")
    reached(run, lambda run: run.status.phase is Phase.PAUSED)
    assert "M and opt are no longer what the run started with" in str(run.status.message)
    run.request_stop()
    run.wait(SOON)


def test_a_fit_whose_model_a_cell_binds_to_another_says_so() -> None:
    cell = """
        import keras, nbtrain
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse", run_eagerly=True)
        data = tf.data.Dataset.from_tensors((tf.ones((2, 2)), tf.ones((2, 1)))).repeat()
        run = nbtrain.fit(model, data, steps_per_epoch=1000, epochs=9, name="fitted")
    """
    notebook = Notebook("import tensorflow as tf", cell)
    run = notebook["run"]
    with pytest.raises(BusyError, match="In the notebook model stands for something new"):
        notebook.cell(cell)
    reached(run, lambda run: "model stands for something new" in str(run.status.message))
    run.request_stop()
    run.wait(SOON)
