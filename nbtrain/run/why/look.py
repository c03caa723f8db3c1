"""Looks at the layers and variables of a step: activations, gradients and updates.

with Look(variables) as look:
    step(batch)          # traced anew, with each layer of Keras observed
look.parts()             # the numbers of each layer, and of each variable without a layer

The numbers are computed beside the step and leave it as it is. Activations are those of the first
rows of the batch, as many as have a million values in a layer. Besides that, a copy of the
variables is in memory until the numbers are read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from nbtrain.inner.keras import layers_of, path_of_called, trainable_of
from nbtrain.inner.methods import ThreadMethod
from nbtrain.inner.tensorflow import tracing_anew
from nbtrain.inner.variables import handles, is_variable

# The most activations of a layer that are looked at.
_MOST = 2**20

# Layers whose activations say something, although they have no weights.
_ACTIVATIONS = (
    *(keras.layers.Activation, keras.layers.ReLU, keras.layers.LeakyReLU, keras.layers.PReLU),
    *(keras.layers.ELU, keras.layers.Softmax),
)

# The outputs of an activation at which its slope is a tenth of the steepest one.
_BOUNDS = {"sigmoid": (0.0257, 0.9743), "tanh": (-0.9487, 0.9487)}

_LAYER = ThreadMethod(keras.layers.Layer, "__call__")
_TAPE = ThreadMethod(tf.GradientTape, "gradient")


@dataclass(frozen=True, slots=True)
class Activations:
    """The outputs of a layer in a step.

    Attributes:
        mean, spread: Their mean and standard deviation.
        zeros: The share that is 0.
        dead: The share of the units that are 0 in all rows of all calls.
        saturated: The share at which the slope of a sigmoid or tanh is nearly 0; 0 for others.
        rows: The number of rows of all calls, times those of a sequence or picture.
    """

    mean: float
    spread: float
    zeros: float
    dead: float
    saturated: float
    rows: float


@dataclass(frozen=True, slots=True)
class Observed:
    """A layer of Keras, or a variable that is of none.

    Attributes:
        name: Its path below the model, or the name of the variable.
        kind: The class of the layer, such as "Dense"; "" for a variable.
        activation: The name of the activation; "" if there is none.
        size: The number of weights that can be trained; of all weights if it is frozen.
        weights: The norm of these before the step; NaN without weights.
        gradient: The norm of their gradient; NaN if no tape was asked for it.
        update: The norm of what the step adds to the weights, over that of the weights; NaN for
            weights that are 0.
        is_changed: Whether the step changes one of its weights.
        is_trained: Whether a tape was asked for the gradient of one of its weights.
        is_connected: Whether there was a gradient.
        is_sparse: Whether a gradient is for some rows of the weights alone, as in an Embedding.
        is_frozen: Whether the layer is not trainable.
        activations: Its outputs; None for a variable.
    """

    name: str
    kind: str = ""
    activation: str = ""
    size: int = 0
    weights: float = math.nan
    gradient: float = math.nan
    update: float = math.nan
    is_changed: bool = False
    is_trained: bool = False
    is_connected: bool = False
    is_sparse: bool = False
    is_frozen: bool = False
    activations: Activations | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The part as plain data, without numbers that are NaN or infinite."""
        found = {**dataclasses.asdict(self), "slope": self.slope}
        seen = found.pop("activations") or {}
        return {
            name: value
            for name, value in (*found.items(), *seen.items())
            if not (isinstance(value, float) and not math.isfinite(value))
        }

    @property
    def slope(self) -> float:
        """The root mean square of the gradient, which compares layers of any size."""
        return self.gradient / math.sqrt(self.size) if self.size else math.nan


@dataclass(slots=True)
class _Called:
    """A layer that was called, with the numbers of each of its outputs.

    Attributes:
        layer: The layer.
        path: Its path below the model.
        whole_path: Its path with the model.
        outputs: For each call mean, mean square, share of zeros, share that is saturated, rows.
        lives: Whether each unit was other than 0 in a call.
    """

    layer: Any
    path: str
    whole_path: str
    outputs: list[Any] = field(default_factory=list)
    lives: Any = False

    def note(self, numbers: Any, lives: Any) -> None:
        """Notes the numbers of a call, which begin with the mean and the variance."""
        mean, variance, *others = map(float, numbers)
        self.outputs.append([mean, variance + mean**2, *others])
        known = np.shape(self.lives) in ((), np.shape(lives))
        self.lives = self.lives | lives if known else np.True_

    @property
    def activations(self) -> Activations | None:
        """The numbers of all calls; None if none was executed."""
        if not self.outputs:
            return None
        mean, square, zeros, saturated, _ = map(float, np.mean(self.outputs, axis=0))
        return Activations(
            mean,
            math.sqrt(max(0.0, square - mean**2)) if math.isfinite(square) else math.nan,
            zeros,
            1.0 - float(np.mean(self.lives)),
            saturated,
            float(np.sum(self.outputs, axis=0)[-1]),
        )


class Look:
    """Observes a step of the calling thread, as a context manager.

    Args:
        variables: The variables that the step may train.
    """

    def __init__(self, variables: Sequence[Any]) -> None:
        self._before = {
            handle: (each, tf.identity(each)) for each in variables for handle in handles(each)[:1]
        }
        self._called: dict[int, _Called] = {}  # by the identity of the layer
        self._depth = 0  # calls of `gradient` within others, as recomputed gradients have
        self._sparse: set[int] = set()
        self._asked: dict[int, Any] = {}  # the variables whose gradients were computed
        self._gradients: defaultdict[int, list[float]] = defaultdict(list)
        self._connected: set[int] = set()
        self._around = contextlib.ExitStack()

    def __enter__(self) -> Look:
        self._around.enter_context(tracing_anew())
        self._around.enter_context(_LAYER.replaced(self._call))
        self._around.enter_context(_TAPE.replaced(self._gradient))
        return self

    def __exit__(self, *_error: object) -> None:
        self._around.close()

    def _call(self, layer: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls a layer, and notes numbers of its outputs."""
        result = _LAYER.original(layer, *args, **kwargs)
        is_leaf = not layers_of(layer, with_itself=False)
        if trainable_of(layer) or (is_leaf and (layer.weights or isinstance(layer, _ACTIVATIONS))):
            tensors = [each for each in tf.nest.flatten(result) if _is_real(each)]
            if tensors:
                called = self._called.setdefault(
                    id(layer),
                    _Called(layer, path_of_called(layer), path_of_called(layer, with_model=True)),
                )
                _note(called.note, *_numbers(tensors[0], _BOUNDS.get(activation_of(layer))))
        return result

    def _gradient(
        self, tape: tf.GradientTape, target: Any, sources: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Computes gradients, and notes their norms."""
        self._depth += 1
        try:
            result = _TAPE.original(tape, target, sources, *args, **kwargs)
        finally:
            self._depth -= 1
        if self._depth:
            return result
        for source, gradient in zip(tf.nest.flatten(sources), tf.nest.flatten(result), strict=True):
            if is_variable(source):
                (handle, *_) = handles(source)
                self._asked[handle] = source
                if gradient is not None:
                    self._connected.add(handle)
                    self._sparse |= {handle} if isinstance(gradient, tf.IndexedSlices) else set()
                    _note(self._gradients[handle].append, _norm(_dense(gradient)))
        return result

    def parts(self) -> Iterator[Observed]:
        """Yields the layers in the order of their calls, then the variables that are of none."""
        of_layers: set[int] = set()
        paths = Counter(each.path for each in self._called.values())
        for called in self._called.values():
            layer = called.layer
            of_layers |= {*self._known(layer.weights)}
            is_frozen = bool(layer.weights) and not layer.trainable
            yield self._part(
                called.path if paths[called.path] == 1 else called.whole_path,
                self._known(layer.weights if is_frozen else trainable_of(layer)),
                kind=type(layer).__name__,
                activation=activation_of(layer),
                is_frozen=is_frozen,
                activations=called.activations,
            )
        others = {**self._asked, **{handle: each for handle, (each, _) in self._before.items()}}
        for handle, variable in others.items():
            part = self._part(_name(variable), [handle])
            if handle not in of_layers and (part.is_trained or part.is_changed):
                yield part

    def _known(self, variables: Iterable[Any]) -> list[int]:
        """Returns the handles of variables, whose values are known from now on."""
        found = {handle: each for each in variables for handle in handles(each)[:1]}
        for handle, each in found.items():
            if handle not in self._before:
                self._before[handle] = each, tf.identity(each)
        return [*found]

    def _part(self, name: str, found: Sequence[int], **more: Any) -> Observed:
        known = [each for each in found if each in self._before]
        weights = {each: _size(self._before[each][1]) for each in known}
        # The shape of a matrix has a scale of its own; a bias begins at 0.
        scaled = [each for each in known if self._before[each][1].shape.rank >= 2] or known
        moved = {each: _size(self._before[each][0] - self._before[each][1]) for each in known}
        of_scaled = _joined(weights[each] for each in scaled)
        gradients = [
            float(np.mean(self._gradients[each])) for each in found if self._gradients[each]
        ]
        return Observed(
            name,
            size=sum(int(tf.size(self._before[each][1])) for each in known),
            weights=_joined(weights.values()) if known else math.nan,
            gradient=_joined(gradients) if gradients else math.nan,
            update=_joined(moved[each] for each in scaled) / of_scaled if of_scaled else math.nan,
            is_changed=any(moved.values()),
            is_trained=any(each in self._asked for each in found),
            is_connected=any(each in self._connected for each in found),
            is_sparse=any(each in self._sparse for each in found),
            **more,
        )


def activation_of(layer: Any) -> str:
    """Returns the name of the activation that a layer ends with; "" if there is none."""
    if isinstance(layer, keras.layers.ReLU):
        return "relu"
    if hasattr(layer, "recurrent_activation"):  # the activation is within the output
        return ""
    return str(getattr(getattr(layer, "activation", None), "__name__", ""))


def _note(note: Any, *tensors: Any) -> None:
    """Calls a function with tensors' values: now, or when the function being traced is called."""
    if tf.executing_eagerly():
        note(*(each.numpy() for each in tensors))
    else:
        tf.numpy_function(note, [*tensors], [])


def _numbers(output: Any, bounds: tuple[float, float] | None) -> tuple[Any, Any]:
    """Returns the numbers of an output, and whether each unit is other than 0 in a row."""
    rows = output if output.shape.rank else output[tf.newaxis]
    of_row = tf.maximum(tf.size(rows[:1]), 1)
    rows = tf.cast(rows[: tf.maximum(_MOST // of_row, 1)], tf.float32)
    units = tf.reshape(rows, [-1, tf.shape(rows)[-1] if rows.shape.rank > 1 else 1])
    mean, variance = tf.nn.moments(units, axes=[0, 1])
    is_zero = units == 0
    least, most = bounds or (-math.inf, math.inf)
    numbers = tf.stack(
        [
            mean,
            variance,
            _share(is_zero),
            _share((units < least) | (units > most)),
            tf.cast(tf.shape(units)[0], tf.float32),
        ]
    )
    return numbers, ~tf.reduce_all(is_zero, axis=0)


def _share(values: Any) -> Any:
    return tf.reduce_mean(tf.cast(values, tf.float32))


def _dense(gradient: Any) -> Any:
    """Returns the values of a gradient, each row once."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, numbers = tf.unique(gradient.indices)
    return tf.math.unsorted_segment_sum(gradient.values, numbers, tf.size(rows))


def _norm(tensor: Any) -> Any:
    """Returns the norm as float64: squares of large values would be infinite in float32."""
    values = tf.cast(tensor, tf.float32)
    most = tf.maximum(tf.reduce_max(tf.abs(values)), 0.0)  # of nothing, it is -∞
    scaled = tf.norm(tf.math.divide_no_nan(values, most))
    return tf.cast(most, tf.float64) * tf.cast(scaled, tf.float64)


def _size(tensor: Any) -> float:
    return float(_norm(tensor))


def _joined(norms: Any) -> float:
    """Returns the norm of several tensors together."""
    return math.sqrt(sum(each**2 for each in norms))


def _name(variable: Any) -> str:
    name: str = getattr(variable, "path", variable.name)
    return name.removesuffix(":0")


def _is_real(part: Any) -> bool:
    return isinstance(part, tf.Tensor) and part.dtype.is_floating
