"""The loops of TensorFlow's tutorials, on data that ships with scikit-learn, and what they need.

Each tutorial is its own code, shortened; `CHANGES` has the lines that become those of a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import nbtrain
from nbtrain.core.states import Phase
from tests.gate import SOON
from tests.shells import own_shell

# www.tensorflow.org/tutorials/customization/custom_training_walkthrough
WALKTHROUGH = """
import tensorflow as tf
from sklearn.datasets import load_iris

features, labels = load_iris(return_X_y=True)
ds_train_batch = tf.data.Dataset.from_tensor_slices((features, labels)).shuffle(150).batch(32)
model = tf.keras.Sequential([
  tf.keras.Input((4,)),
  tf.keras.layers.Dense(10, activation=tf.nn.relu),
  tf.keras.layers.Dense(3)
])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

def loss(model, x, y, training):
  y_ = model(x, training=training)
  return loss_object(y_true=y, y_pred=y_)

def grad(model, inputs, targets):
  with tf.GradientTape() as tape:
    loss_value = loss(model, inputs, targets, training=True)
  return loss_value, tape.gradient(loss_value, model.trainable_variables)

optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)
"""
WALKTHROUGH_LOOP = """
train_loss_results = []
train_accuracy_results = []
num_epochs = 6

for epoch in range(num_epochs):
  epoch_loss_avg = tf.keras.metrics.Mean()
  epoch_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

  # Training loop - using batches of 32
  for x, y in ds_train_batch:
    # Optimize the model
    loss_value, grads = grad(model, x, y)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))

    # Track progress
    epoch_loss_avg.update_state(loss_value)  # Add current batch loss
    epoch_accuracy.update_state(y, model(x, training=True))

  # End epoch
  train_loss_results.append(epoch_loss_avg.result())
  train_accuracy_results.append(epoch_accuracy.result())
"""
WALKTHROUGH_CHANGES = {
    "for epoch in range(num_epochs):": "for epoch in run.track(range(num_epochs)):",
    "  for x, y in ds_train_batch:": "  for x, y in run.track(ds_train_batch):",
    "    epoch_loss_avg.update_state(loss_value)  # Add current batch loss": (
        "    epoch_loss_avg.update_state(loss_value); run.record(loss=loss_value)"
    ),
}

# www.tensorflow.org/tutorials/generative/dcgan
DCGAN = """
import tensorflow as tf
from sklearn.datasets import load_digits

images = load_digits().images.astype("float32")[..., None] / 8 - 1
train_dataset = tf.data.Dataset.from_tensor_slices(images[:256]).shuffle(256).batch(64)

def make_generator_model():
  return tf.keras.Sequential([
    tf.keras.Input((noise_dim,)),
    tf.keras.layers.Dense(4*4*8, use_bias=False),
    tf.keras.layers.BatchNormalization(),
    tf.keras.layers.LeakyReLU(),
    tf.keras.layers.Reshape((4, 4, 8)),
    tf.keras.layers.Conv2DTranspose(1, 5, strides=2, padding='same', activation='tanh'),
  ])

def make_discriminator_model():
  return tf.keras.Sequential([
    tf.keras.Input((8, 8, 1)),
    tf.keras.layers.Conv2D(8, 5, strides=2, padding='same'),
    tf.keras.layers.LeakyReLU(),
    tf.keras.layers.Dropout(0.3),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(1),
  ])

noise_dim = 10
BATCH_SIZE = 64
EPOCHS = 3
generator = make_generator_model()
discriminator = make_discriminator_model()
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)

def discriminator_loss(real_output, fake_output):
  real_loss = cross_entropy(tf.ones_like(real_output), real_output)
  fake_loss = cross_entropy(tf.zeros_like(fake_output), fake_output)
  return real_loss + fake_loss

def generator_loss(fake_output):
  return cross_entropy(tf.ones_like(fake_output), fake_output)

generator_optimizer = tf.keras.optimizers.Adam(1e-4)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-4)
checkpoint = tf.train.Checkpoint(generator_optimizer=generator_optimizer,
                                 discriminator_optimizer=discriminator_optimizer,
                                 generator=generator,
                                 discriminator=discriminator)

@tf.function
def train_step(images):
  noise = tf.random.normal([BATCH_SIZE, noise_dim])
  with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
    generated_images = generator(noise, training=True)
    real_output = discriminator(images, training=True)
    fake_output = discriminator(generated_images, training=True)
    gen_loss = generator_loss(fake_output)
    disc_loss = discriminator_loss(real_output, fake_output)
  generator_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
  discriminator_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
  generator_optimizer.apply_gradients(zip(generator_gradients, generator.trainable_variables))
  discriminator_optimizer.apply_gradients(
      zip(discriminator_gradients, discriminator.trainable_variables))

def train(dataset, epochs):
  for epoch in range(epochs):
    for image_batch in dataset:
      train_step(image_batch)

train(train_dataset, EPOCHS)
"""
DCGAN_CHANGES = {
    "def train(dataset, epochs):": (
        "  return {'gen_loss': gen_loss, 'disc_loss': disc_loss}\n\ndef train(dataset, epochs):"
    ),
    "train(train_dataset, EPOCHS)": (
        "run = nbtrain.train(train_step, data=train_dataset, epochs=EPOCHS, checkpoint=checkpoint)"
    ),
}

# www.tensorflow.org/tutorials/keras/text_classification
TEXT = """
import re
import tensorflow as tf
from sklearn import datasets

texts = [getattr(datasets, name)().DESCR for name in ("load_iris", "load_wine", "load_diabetes")]
parts = [(part, label) for label, text in enumerate(texts) for part in re.split(r"[.\\n]", text)]
sentences = [(part, label) for part, label in parts if len(part) > 20]
raw_ds = tf.data.Dataset.from_tensor_slices(([s for s, _ in sentences], [l for _, l in sentences]))
raw_ds = raw_ds.shuffle(500, seed=42, reshuffle_each_iteration=False).batch(16)
vectorize_layer = tf.keras.layers.TextVectorization(max_tokens=500, output_sequence_length=20)
vectorize_layer.adapt(raw_ds.map(lambda x, y: x))

def vectorize_text(text, label):
  return vectorize_layer(text), label

train_ds = raw_ds.skip(2).map(vectorize_text).cache().prefetch(tf.data.AUTOTUNE)
val_ds = raw_ds.take(2).map(vectorize_text).cache().prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
  tf.keras.layers.Embedding(500, 8),
  tf.keras.layers.Dropout(0.2),
  tf.keras.layers.GlobalAveragePooling1D(),
  tf.keras.layers.Dense(3)])
model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              optimizer='adam', metrics=['accuracy'])
epochs = 4
history = model.fit(train_ds, validation_data=val_ds, epochs=epochs)
history_dict = history.history
"""
TEXT_CHANGES = {
    "history = model.fit(train_ds, validation_data=val_ds, epochs=epochs)": (
        "history = run = nbtrain.fit(model, train_ds, validation_data=val_ds, epochs=epochs)"
    ),
    "history_dict = history.history": "history_dict = history.wait().history",
}

# www.tensorflow.org/tutorials/images/transfer_learning
TRANSFER = """
import tensorflow as tf
from sklearn.datasets import load_digits

images, labels = load_digits().images.astype("float32")[..., None] / 16, load_digits().target
few, many = labels < 5, labels >= 5
train_ds = tf.data.Dataset.from_tensor_slices((images[many], labels[many] - 5)).batch(64)
val_ds = train_ds.take(2)
base_model = tf.keras.Sequential([
  tf.keras.Input((8, 8, 1)),
  tf.keras.layers.Conv2D(8, 3, activation='relu'),
  tf.keras.layers.Conv2D(8, 3, activation='relu')])
base_model.trainable = False
model = tf.keras.Sequential([
  base_model,
  tf.keras.layers.GlobalAveragePooling2D(),
  tf.keras.layers.Dropout(0.2),
  tf.keras.layers.Dense(5)])
model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.01),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=['accuracy'])
initial_epochs = 2
history = model.fit(train_ds, epochs=initial_epochs, validation_data=val_ds)
acc = history.history['accuracy']

base_model.trainable = True
model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              optimizer=tf.keras.optimizers.Adam(learning_rate=0.001),
              metrics=['accuracy'])
total_epochs = initial_epochs + 2
history_fine = model.fit(train_ds, epochs=total_epochs, initial_epoch=len(acc),
                         validation_data=val_ds)
acc += history_fine.history['accuracy']
"""
TRANSFER_CHANGES = {
    "history = model.fit(train_ds, epochs=initial_epochs, validation_data=val_ds)": (
        "history = nbtrain.fit(model, train_ds, epochs=initial_epochs, "
        "validation_data=val_ds).wait()"
    ),
    "history_fine = model.fit(train_ds, epochs=total_epochs, initial_epoch=len(acc),": (
        "history_fine = nbtrain.fit(model, train_ds, epochs=total_epochs, initial_epoch=len(acc),"
    ),
    "acc += history_fine.history['accuracy']": ("acc += history_fine.wait().history['accuracy']"),
}


# The same loops in the foreground, in a script.
WALKTHROUGH_TRACKED = {
    "for epoch in range(num_epochs):": (
        "for epoch in (run := nbtrain.track(range(num_epochs), name='walkthrough')):"
    ),
    **{line: WALKTHROUGH_CHANGES[line] for line in [*WALKTHROUGH_CHANGES][1:]},
}
DCGAN_TRACKED = {
    "  for epoch in range(epochs):": (
        "  for epoch in nbtrain.track(range(epochs), name='gan', checkpoint=checkpoint):"
    ),
    "    for image_batch in dataset:": "    for image_batch in nbtrain.track(dataset):",
}


def adapted(source: str, changes: Mapping[str, str]) -> str:
    """A tutorial with its changed lines."""
    for line, instead in changes.items():
        assert source.count(f"\n{line}\n") == 1, line
        source = source.replace(f"\n{line}\n", f"\n{instead}\n")
    return source


@pytest.fixture(scope="module")
def ipython(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An IPython with the magics."""
    with own_shell(tmp_path_factory.mktemp("ipython")) as shell:
        shell.run_line_magic("load_ext", "nbtrain")
        yield shell


def ran(source: str) -> dict[str, Any]:
    """The names of a program that has run."""
    names: dict[str, Any] = {"nbtrain": nbtrain}
    exec(compile(source, "tutorial.py", "exec"), names)
    return names


def test_the_custom_training_walkthrough_needs_three_lines_in_its_cell(ipython: Any) -> None:
    assert len(WALKTHROUGH_CHANGES) == 3
    ipython.run_cell(WALKTHROUGH).raise_error()
    body = adapted(WALKTHROUGH_LOOP, WALKTHROUGH_CHANGES)
    ipython.run_cell_magic("nbtrain", "--name walkthrough", body)
    run = nbtrain.runs()["walkthrough"]
    run.wait(SOON)
    assert (run.status.phase, run.status.step, run.status.epoch) == (Phase.FINISHED, 30, 6)
    assert len(run.scalars["loss"].values) == 30
    losses = ipython.user_ns["train_loss_results"]
    assert len(losses) == 6
    assert losses[-1] < losses[0]


def test_the_dcgan_needs_two_lines() -> None:
    assert len(DCGAN_CHANGES) == 2
    run = ran(adapted(DCGAN, DCGAN_CHANGES))["run"].wait(SOON)
    assert (run.status.phase, run.status.step) == (Phase.FINISHED, 12)
    assert {"gen_loss", "disc_loss"} <= set(run.scalars)
    assert [held.step for held in run.checkpoints] == [12]
    assert run.status.message is None, "its checkpoint holds all that is trained"


def test_the_custom_training_walkthrough_needs_three_lines_in_a_script() -> None:
    assert len(WALKTHROUGH_TRACKED) == 3
    names = ran(WALKTHROUGH + adapted(WALKTHROUGH_LOOP, WALKTHROUGH_TRACKED))
    run = names["run"]
    assert (run.status.phase, run.status.step, run.status.epoch) == (Phase.FINISHED, 30, 6)
    assert len(run.scalars["loss"].values) == 30
    assert names["train_loss_results"][-1] < names["train_loss_results"][0]


def test_the_loops_of_the_dcgan_need_two_lines() -> None:
    assert len(DCGAN_TRACKED) == 2
    ran(adapted(DCGAN, DCGAN_TRACKED))
    run = nbtrain.runs()["gan"]
    assert (run.status.phase, run.status.step, run.status.epochs) == (Phase.FINISHED, 12, 3)
    assert [held.step for held in run.checkpoints] == [12]


def test_the_text_classification_needs_two_lines() -> None:
    assert len(TEXT_CHANGES) == 2
    names = ran(adapted(TEXT, TEXT_CHANGES))
    assert len(names["history_dict"]["val_accuracy"]) == 4
    assert "epoch_val_loss" in names["run"].scalars


def test_transfer_learning_and_fine_tuning_need_three_lines() -> None:
    assert len(TRANSFER_CHANGES) == 3
    names = ran(adapted(TRANSFER, TRANSFER_CHANGES))
    assert len(names["acc"]) == 4
    assert names["history_fine"].status.phase is Phase.FINISHED
    assert len([*Path("runs").iterdir()]) == 2
