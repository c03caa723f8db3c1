"""The Supervisor prepares its session: it restores, initializes or waits."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import nbtrain
from tests.gate import eventually
from tests.supervised import (
    Background,
    Counting,
    held,
    in_background,
    kinds,
    services,
)

v1 = tf.compat.v1


class Ordered:
    """A graph whose init ops tell when they run."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.start = v1.placeholder_with_default(1.0, [])
            self.weight = v1.get_variable("weight", initializer=self.start)
            self.local = v1.get_variable(
                "local", initializer=0.0, collections=[v1.GraphKeys.LOCAL_VARIABLES]
            )
            self.init_op = self.telling("init_op", self.weight.initializer)
            self.local_init_op = self.telling("local_init_op", self.local.initializer)
            self.ready_op = self.asked("ready_op")
            self.ready_for_local_init_op = self.asked("ready_for_local_init_op")

    def telling(self, name: str, op: Any) -> Any:
        """An op that tells its name before it runs."""
        with tf.control_dependencies([self.asked(name)]):
            return tf.group(op)

    def asked(self, name: str, *answer: str) -> Any:
        """A tensor that tells its name and has this value."""

        def tell() -> np.ndarray[Any, Any]:
            self.told.append(name)
            return np.array(answer, dtype=object)

        return v1.py_func(tell, [], tf.string)

    def supervisor(self, logdir: Path | None = None, **kwargs: Any) -> nbtrain.Supervisor:
        given = {
            "ready_op": self.ready_op,
            "ready_for_local_init_op": self.ready_for_local_init_op,
            "init_op": self.init_op,
            "local_init_op": self.local_init_op,
            "init_fn": lambda sess: self.told.append("init_fn"),
            "logdir": logdir and str(logdir),
        }
        return nbtrain.Supervisor(self.graph, **{**given, **kwargs})


def prepared(sv: nbtrain.Supervisor, fetch: Any = ()) -> Any:
    """Returns the values in a session that was prepared in the background."""

    def use() -> Any:
        with sv.managed_session() as sess:
            return sess.run(fetch)

    return in_background(use)


def test_init_op_init_fn_local_init_op_and_ready_op_run_in_this_order() -> None:
    ordered = Ordered()
    prepared(ordered.supervisor())
    assert ordered.told == [
        "init_op",
        "init_fn",
        "ready_for_local_init_op",
        "local_init_op",
        "ready_op",
    ]


def test_restored_variables_are_not_initialized(tmp_path: Path) -> None:
    ordered = Ordered()
    sv = ordered.supervisor(tmp_path)
    prepared(sv)
    ordered.told.clear()
    prepared(sv)
    assert ordered.told == ["ready_for_local_init_op", "local_init_op", "ready_op"]


def test_the_init_op_is_fed() -> None:
    ordered = Ordered()
    sv = ordered.supervisor(init_feed_dict={ordered.start: 5.0})
    assert prepared(sv, ordered.weight) == 5.0


def test_the_init_fn_has_the_session_after_the_init_op() -> None:
    ordered, seen = Ordered(), []

    def look(sess: Any) -> None:
        seen.append(float(sess.run(ordered.weight)))
        assert v1.get_default_graph() is ordered.graph

    prepared(ordered.supervisor(init_fn=look))
    assert seen == [1.0]


def test_an_init_fn_alone_may_initialize() -> None:
    ordered = Ordered()

    def init(sess: Any) -> None:
        sess.run(ordered.weight.initializer, {ordered.start: 3.0})

    assert prepared(ordered.supervisor(init_op=None, init_fn=init), ordered.weight) == 3.0


def test_local_variables_and_tables_are_initialized_at_every_start(tmp_path: Path) -> None:
    graph = tf.Graph()
    with graph.as_default():
        v1.get_variable("weight", initializer=0.0)
        local = v1.get_variable("local", initializer=7, collections=[v1.GraphKeys.LOCAL_VARIABLES])
        entries = tf.lookup.KeyValueTensorInitializer(["a"], [4])
        found = tf.lookup.StaticHashTable(entries, 0).lookup(tf.constant("a"))
    sv = nbtrain.Supervisor(graph, logdir=str(tmp_path))
    assert prepared(sv, [local, found]) == [7, 4]
    assert prepared(sv, [local, found]) == [7, 4], "restored"


def test_variables_that_nothing_initializes_are_named() -> None:
    sv = Counting().supervisor(None, init_op=None)
    with pytest.raises(RuntimeError, match="Variables not initialized: global_step, weight"):
        prepared(sv)


def test_nothing_that_could_initialize_is_an_error() -> None:
    sv = nbtrain.Supervisor(Counting().graph, init_op=None, local_init_op=None)
    with pytest.raises(RuntimeError, match="no init_op or init_fn or local_init_op was given"):
        prepared(sv)


def test_without_a_ready_op_nothing_is_asked() -> None:
    ordered = Ordered()
    prepared(ordered.supervisor(ready_op=None))
    assert "ready_op" not in ordered.told


def test_a_model_that_is_not_ready_for_its_local_init_op_is_an_error() -> None:
    ordered = Ordered()
    with ordered.graph.as_default():
        never = ordered.asked("ready_for_local_init_op", "weight")
    with pytest.raises(RuntimeError, match="did not make model ready for local_init"):
        prepared(ordered.supervisor(ready_for_local_init_op=never))
    assert "local_init_op" not in ordered.told


def test_a_second_start_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=600)
    in_background(lambda: count.trained(sv, 3))
    again = count.supervisor(tmp_path, save_model_secs=600)
    assert prepared(again, [count.global_step, count.weight]) == [3, 6.0]


def test_a_config_reaches_the_session() -> None:
    count = Counting()
    sv = count.supervisor(None)
    config = v1.ConfigProto(device_count={"CPU": 3})
    with sv.managed_session(config=config) as sess:
        assert len([d for d in sess.list_devices() if d.device_type == "CPU"]) == 3


def test_the_users_session_manager_prepares() -> None:
    count = Counting()
    asked = []

    class Own(tf.compat.v1.train.SessionManager):
        def prepare_session(self, *args: Any, **kwargs: Any) -> Any:
            asked.append(kwargs["init_op"])
            return super().prepare_session(*args, **kwargs)

    sv = count.supervisor(None, session_manager=Own(graph=count.graph))
    prepared(sv)
    assert asked == [sv.init_op]


def test_a_session_without_services_still_counts_steps(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=1, save_summaries_secs=1)
    with sv.managed_session(start_standard_services=False) as sess:
        sess.run(count.train_op)
        assert services() == []
        assert sv.step_of(sess) == 1
    assert kinds(tmp_path) == ["file_version", "graph_def", "meta_graph_def", "STOP"]


def test_services_may_be_started_later(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_secs=600)
    with sv.managed_session(start_standard_services=False) as sess:
        sess.run(count.train_op)
        sv.start_standard_services(sess)
    assert held(tmp_path, 1) == 1


def test_services_can_be_started_on_the_users_own_session(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, save_model_steps=1)
    with count.graph.as_default(), v1.Session() as sess:
        sess.run(sv.init_op)
        sv.start_standard_services(sess)
        sess.run(count.train_op)
        sv.stop()
    assert held(tmp_path, 1) == 1


def test_a_session_is_forgotten_once_it_is_closed() -> None:
    count = Counting()
    sv = count.supervisor(None)

    def use() -> Any:
        with sv.managed_session() as sess:
            return weakref.ref(sess)

    gc.freeze()  # the graphs of other tests, which the collection would take long to search
    try:
        session = in_background(use)
        gc.collect()
        assert session() is None, "nothing of the Supervisor holds its variables in memory"
    finally:
        gc.unfreeze()


# --- waiting ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A TensorFlow server in this process, which several sessions share."""
    made = tf.distribute.Server.create_local_server()
    yield made.target
    del made  # no server can be stopped: its port closes with the process


def replica(name: str) -> Counting:
    """A model in a container of its own at the server, with its variables on a device."""
    count = Counting.__new__(Counting)
    count.graph = tf.Graph()
    with count.graph.as_default(), v1.device("/cpu:0"), v1.container(name):
        count.global_step = v1.train.get_or_create_global_step()
        count.weight = v1.get_variable("weight", initializer=0.0)
        count.train_op = tf.group(count.weight.assign_add(2.0), count.global_step.assign_add(1))
    return count


def test_a_worker_waits_until_the_chief_has_initialized(server: str, tmp_path: Path) -> None:
    both = [replica("waits"), replica("waits")]
    chief = both[0].supervisor(tmp_path)
    worker = both[1].supervisor(None, is_chief=False, recovery_wait_secs=0.02)

    def work() -> list[Any]:
        with worker.managed_session(server) as sess:
            sess.run(both[1].train_op)
            return list(sess.run([both[1].global_step, both[1].weight]))

    waiting = Background(work)
    with chief.managed_session(server) as sess:
        sess.run(both[0].train_op)
        assert waiting.result() in ([2, 4.0], [1, 2.0])
        eventually(lambda: sess.run(both[0].global_step) == 2)


def test_a_worker_whose_wait_fails_says_so(server: str) -> None:
    sv = replica("in vain").supervisor(None, is_chief=False, recovery_wait_secs=0.01)
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"ready within 0\.03 s"):
        in_background(lambda: sv.prepare_or_wait_for_session(server, max_wait_secs=0.03))


def test_a_managed_session_takes_max_wait_secs_too(server: str) -> None:
    sv = replica("in vain").supervisor(None, is_chief=False, recovery_wait_secs=0.01)
    with (
        pytest.raises(tf.errors.DeadlineExceededError),
        sv.managed_session(server, max_wait_secs=0.03),
    ):
        pass


def test_a_waiting_worker_hears_a_stop(server: str) -> None:
    sv = replica("stopped").supervisor(None, is_chief=False, recovery_wait_secs=3600)
    waiting = Background(lambda: sv.prepare_or_wait_for_session(server))
    sv.request_stop()
    with pytest.raises(tf.errors.CancelledError, match="A stop was requested"):
        waiting.result()


def test_a_worker_whose_cluster_is_not_there_hears_a_stop() -> None:
    sv = replica("nowhere").supervisor(None, is_chief=False)
    waiting = Background(lambda: sv.prepare_or_wait_for_session("grpc://localhost:1"))
    eventually(lambda: any(t.name == "nbtrain attempt" for t in threading.enumerate()))
    sv.request_stop()
    with pytest.raises(tf.errors.CancelledError, match="A stop was requested"):
        waiting.result()


def test_a_chief_that_waits_for_a_checkpoint_restores_what_comes(tmp_path: Path) -> None:
    count = Counting()
    other = count.supervisor(tmp_path, save_model_secs=600, summary_writer=None)
    sv = count.supervisor(tmp_path, recovery_wait_secs=0.02, summary_writer=None)
    waiting = Background(lambda: sv.prepare_or_wait_for_session(wait_for_checkpoint=True))
    count.trained(other, 4)
    with waiting.result() as sess:
        assert sess.run(count.global_step) in (0, 4)  # 0: the first one, at the start
    sv.stop()


def test_a_chief_initializes_if_no_checkpoint_comes(tmp_path: Path) -> None:
    count = Counting()
    sv = count.supervisor(tmp_path, recovery_wait_secs=0.01)
    with sv.prepare_or_wait_for_session(wait_for_checkpoint=True, max_wait_secs=0.02) as sess:
        assert sess.run(count.global_step) == 0
    sv.stop()


def test_a_chief_that_waits_for_a_checkpoint_hears_a_stop(tmp_path: Path) -> None:
    sv = Counting().supervisor(tmp_path, recovery_wait_secs=3600)
    waiting = Background(lambda: sv.prepare_or_wait_for_session(wait_for_checkpoint=True))
    sv.request_stop()
    with pytest.raises(tf.errors.CancelledError, match="A stop was requested"):
        waiting.result()


def test_a_chief_keeps_what_it_saves_while_workers_train(server: str, tmp_path: Path) -> None:
    both = [replica("saves"), replica("saves")]
    with both[0].graph.as_default():
        saver = v1.train.Saver(max_to_keep=0)
    chief = both[0].supervisor(tmp_path, saver=saver, save_model_secs=0.02, summary_writer=None)
    worker = both[1].supervisor(None, is_chief=False, recovery_wait_secs=0.02)
    saved: set[str] = set()
    save = saver.save

    def save_and_note(*args: Any, **kwargs: Any) -> Any:
        path = save(*args, **kwargs)
        saved.add(Path(path).name)
        return path

    saver.save = save_and_note

    def work() -> None:
        with worker.managed_session(server) as sess:
            while not worker.should_stop():
                sess.run(both[1].train_op)

    waiting = Background(work)
    with chief.managed_session(server):
        eventually(lambda: len(saved) >= 10)
        worker.request_stop()
        waiting.result()
    assert {path.stem for path in tmp_path.glob("*.index")} == saved
