"""A checkpoint that does not fit is refused by name, before anything is restored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from nbtrain.core.errors import CheckpointError
from nbtrain.tf1.saving.compatibility import check_fit
from tests.supervised import Counting, kinds

v1 = tf.compat.v1

Build = Callable[[], Any]


def saver_of(build: Build) -> tuple[tf.Graph, Any]:
    """A graph, and the saver that `build` makes in it."""
    graph = tf.Graph()
    with graph.as_default():
        return graph, build()


def saved(build: Build, folder: Path) -> str:
    """A checkpoint of a model."""
    graph, saver = saver_of(build)
    with graph.as_default(), v1.Session() as sess:
        sess.run(v1.global_variables_initializer())
        return str(saver.save(sess, str(folder / "model.ckpt")))


def variable(name: str, *shape: int, **kwargs: Any) -> Any:
    return v1.get_variable(name, list(shape), **kwargs)


def partitioned(name: str = "wide", *, use_resource: bool = True) -> Any:
    return variable(
        name, 10, 3, partitioner=v1.fixed_size_partitioner(3), use_resource=use_resource
    )


def named(**shapes: tuple[int, ...]) -> Build:
    """A saver of variables of these names and shapes."""

    def build() -> Any:
        return v1.train.Saver([variable(name, *shape) for name, shape in shapes.items()])

    return build


def table() -> Any:
    tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, 0)
    variable("a", 2)
    return v1.train.Saver()


def averaged() -> Any:
    variables = [variable("a", 2), variable("b", 3)]
    averages = tf.train.ExponentialMovingAverage(0.9)
    averages.apply(variables)
    return v1.train.Saver(averages.variables_to_restore())


def of(*made: Any, **kwargs: Any) -> Any:
    """A saver of all variables that were made."""
    return v1.train.Saver(**kwargs)


FITTING: dict[str, tuple[Build, Build]] = {
    "the same": (named(a=(2,), b=(3, 4)), named(a=(2,), b=(3, 4))),
    "more than is needed": (named(a=(2,), b=(3, 4)), named(a=(2,))),
    "a scalar": (named(a=()), named(a=())),
    "ref variables": (
        lambda: of(variable("a", 2, use_resource=False)),
        lambda: of(variable("a", 2, use_resource=False)),
    ),
    "partitioned": (lambda: of(partitioned()), lambda: of(partitioned())),
    "partitioned ref variables": (
        lambda: of(partitioned(use_resource=False)),
        lambda: of(partitioned(use_resource=False)),
    ),
    "partitioned, of a whole one": (named(wide=(10, 3)), lambda: of(partitioned())),
    "a whole one, of a partitioned": (lambda: of(partitioned()), named(wide=(10, 3))),
    "a list with a partitioned": (
        lambda: of(partitioned()),
        lambda: v1.train.Saver([partitioned()]),
    ),
    "a dict of a partitioned": (
        named(other=(10, 3)),
        lambda: v1.train.Saver({"other": partitioned()}),
    ),
    "a dict of the parts of a partitioned": (
        named(other=(10, 3)),
        lambda: v1.train.Saver({"other": list(partitioned("other"))}),
    ),
    "a dict of other names": (named(old=(2,)), lambda: v1.train.Saver({"old": variable("new", 2)})),
    "another shape, reshaped": (
        named(a=(2, 3)),
        lambda: v1.train.Saver([variable("a", 6)], reshape=True),
    ),
    "sharded": (
        lambda: of(variable("a", 2), variable("b", 3), sharded=True),
        lambda: of(variable("a", 2), variable("b", 3), sharded=True),
    ),
    "a table": (table, table),
    "averages": (averaged, averaged),
    "an unknown shape": (
        named(a=(2, 3)),
        lambda: of(
            v1.get_variable("a", initializer=v1.placeholder(tf.float32, None), validate_shape=False)
        ),
    ),
}


@pytest.mark.parametrize("case", FITTING)
def test_a_checkpoint_that_can_be_restored_is_not_refused(case: str, tmp_path: Path) -> None:
    before, after = FITTING[case]
    path = saved(before, tmp_path)
    graph, saver = saver_of(after)
    check_fit(saver, path)
    with graph.as_default(), v1.Session() as sess:
        saver.restore(sess, path)  # TensorFlow itself finds nothing wrong with it


MISFITS: dict[str, tuple[Build, Build, str]] = {
    "one is missing": (
        named(a=(2,)),
        named(a=(2,), b=(3,)),
        "does not fit what is trained here: b is not there",
    ),
    "another shape": (
        named(a=(2,)),
        named(a=(5,)),
        r"a has the shape \(2,\) there and \(5,\) here",
    ),
    "both": (named(a=(2,)), named(a=(5,), b=()), "a has the shape .* here, b is not there"),
    "many": (
        named(z=()),
        named(**{f"v{k}": () for k in range(9)}),
        "v2 is not there and 6 more",
    ),
    "a partitioned one": (named(a=()), lambda: of(partitioned()), "wide is not there"),
    "a partitioned one of another shape": (
        named(wide=(9, 3)),
        lambda: of(partitioned()),
        r"wide has the shape \(9, 3\) there and \(10, 3\) here",
    ),
    "a dict of other names": (
        named(new=(2,)),
        lambda: v1.train.Saver({"old": variable("new", 2)}),
        "old is not there",
    ),
}


@pytest.mark.parametrize("case", MISFITS)
def test_a_checkpoint_of_another_model_is_refused_by_name(case: str, tmp_path: Path) -> None:
    before, after, message = MISFITS[case]
    _, saver = saver_of(after)
    with pytest.raises(CheckpointError, match=message):
        check_fit(saver, saved(before, tmp_path))


def test_a_saver_that_was_imported_does_not_tell_and_is_left_to_tensorflow(tmp_path: Path) -> None:
    path = saved(named(a=(2,)), tmp_path)
    _, saver = saver_of(lambda: v1.train.import_meta_graph(f"{path}.meta"))
    restored = check_fit(saver, path)
    assert restored is not None
    assert not restored.gaps


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.ckpt-1.index").write_bytes(b"no checkpoint at all")
    _, saver = saver_of(named(a=(2,)))
    with pytest.raises(CheckpointError, match=r"cannot be read: .*\. Nothing was restored"):
        check_fit(saver, str(tmp_path / "model.ckpt-1"))


def test_a_supervisor_refuses_the_checkpoint_of_another_model(tmp_path: Path) -> None:
    count = Counting()
    count.trained(count.supervisor(tmp_path, save_model_steps=1000), 3)
    other = Counting()
    with other.graph.as_default():
        variable("further", 2)
    sv = other.supervisor(tmp_path)
    with pytest.raises(CheckpointError, match="further is not there"):
        other.trained(sv, 1)
    assert kinds(tmp_path)[-1] == "STOP"
    count.trained(count.supervisor(tmp_path, save_model_steps=1000), 3)
