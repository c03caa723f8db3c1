"""Restores random draws and data, so that several trainings from one state have the same.

draws = Draws(saver)
draws.again()       # after a restore: the same draws as before
draws.again(2)      # other draws and other batches: the third of several repeats
"""

from __future__ import annotations

import tensorflow as tf

from nbtrain.checkpoints.files import Saver
from nbtrain.inner.keras import global_seed
from nbtrain.inner.tensorflow import global_generator


class Draws:
    """The states of random generators, at the time of the call; training thread only.

    These are the generators of Keras's layers, which no checkpoint of TensorFlow contains, the
    generators in the checkpoint, and those of the whole process, of TensorFlow and of Keras. An
    operation such as `tf.random.normal` has a counter inside TensorFlow, which cannot be set back.
    """

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        states = [*saver.random_states(), *_of_the_process()]
        # A state that each replica has for itself cannot be set as one.
        states = [each for each in states if not isinstance(each, tf.distribute.DistributedValues)]
        self._states = [(state, state.numpy()) for state in states]

    def again(self, repeat: int = 0, steps: int = 0) -> bool:
        """Sets the states back; returns whether a further repeat has other batches.

        Args:
            repeat: The number of the repeat. Repeat 0 has the same draws and data as before.
            steps: The steps of each repeat, so that no two have the same batches.
        """
        for state, value in self._states:
            changed = value.copy()
            place = 0 if value.size == 2 else -1  # Keras's seed, or the key of a Generator
            changed[place] += repeat
            state.assign(changed)
        return bool(repeat) and self._saver.vary_data(repeat, steps)


def _of_the_process() -> list[tf.Variable]:
    """The states of the generators of the whole process, if they exist."""
    if not tf.executing_eagerly():
        return []
    return [state for state in (global_generator(), global_seed()) if state is not None]
