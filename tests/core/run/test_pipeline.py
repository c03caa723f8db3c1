"""The causes of slowness that are named in a pipeline of `tf.data`."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from nbtrain.run.why.pipeline import causes_in, prepared_by


def plain(x: Any) -> Any:
    return x + 1


def flipped(x: Any) -> Any:
    return x * tf.random.uniform([], 0, 2, tf.int64)


def read(path: Any) -> Any:
    return tf.io.read_file(path)


def texts(data: Any, ms: float = 10.0) -> list[str]:
    return [cause.text for cause in causes_in(data, ms)]


def numbers() -> tf.data.Dataset:
    return tf.data.Dataset.range(100)


def test_a_map_that_tensorflow_makes_parallel_by_itself_is_not_named() -> None:
    assert texts(numbers().map(plain).shuffle(10).batch(4).prefetch(2)) == []
    assert texts(numbers().map(flipped, num_parallel_calls=2)) == []


def test_a_map_of_random_numbers_is_named_and_a_cache_behind_it() -> None:
    data = numbers().map(flipped)
    (cause,) = causes_in(data, 10.0)
    text, line = cause.text, cause.fields["line"]
    assert linecache.getline(__file__, line).strip() == cause.fields["code"]
    assert text.startswith("map(flipped) makes one element at a time, because it draws random ")
    assert "(test_pipeline.py, line " in text
    cached, _ = texts(numbers().map(flipped).cache())
    assert cached.startswith("cache() keeps what map(flipped) has drawn at random: each pass gets")
    assert len(texts(numbers().cache().map(flipped))) == 1


def test_a_map_before_batch_is_named_if_its_call_takes_longer_than_its_work() -> None:
    data = numbers().map(plain).batch(50)
    assert texts(data, ms=10.0) == []
    (text,) = texts(data, ms=1.0)
    assert text.startswith("map(plain) is called for each of the 50 elements of a batch")
    assert texts(numbers().batch(50).map(plain), ms=1.0) == []


def test_python_and_files_and_generators_are_named(tmp_path: Path) -> None:
    by_python = numbers().map(lambda x: tf.py_function(plain, [x], tf.int64))
    assert texts(by_python)[0].startswith("map(lambda) calls Python, where one call waits")
    generator = tf.data.Dataset.from_generator(
        lambda: iter([1]), output_signature=tf.TensorSpec([], tf.int64)
    )
    assert texts(generator.batch(4))[0].startswith("from_generator makes each element in Python")
    (tmp_path / "a").write_text("x")
    files = tf.data.Dataset.from_tensor_slices([str(tmp_path / "a")]).map(read)
    assert texts(files)[0].startswith("map(read) reads a file for each element")


def test_data_that_are_no_dataset_are_named() -> None:
    class Batches(keras.utils.PyDataset):
        """Batches that Python makes."""

    (text,) = texts([1, 2])
    assert text.startswith("The elements come from Python (list), while no step is trained")
    (text,) = texts(Batches(workers=2))
    assert "super().__init__(workers=4)" in text
    assert prepared_by(Batches(workers=2, max_queue_size=10)) > 12


def test_elements_that_are_prepared_in_advance_are_known() -> None:
    assert prepared_by(numbers()) == prepared_by([1]) == 0
    assert prepared_by(numbers().prefetch(7).map(plain).prefetch(3)) == 10
    assert prepared_by(numbers().prefetch(tf.data.AUTOTUNE)) > 1
