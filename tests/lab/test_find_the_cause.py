"""The cause of a NaN in a notebook, found by a click."""

from __future__ import annotations

import os

from playwright.sync_api import Browser, expect

from tests.lab.lab import Lab, opened
from tests.page.bare import phase

CELLS = (
    """\
import keras, nbtrain, numpy as np, tensorflow as tf
%load_ext nbtrain
keras.utils.set_random_seed(1)
x = np.random.default_rng(0).uniform(0.1, 1, (800, 4)).astype("f")
x[600] = 0
data = tf.data.Dataset.from_tensor_slices(x).batch(8)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
adam = keras.optimizers.Adam(1e-3)
adam.build(model.trainable_variables)
""",
    """\
def loss_fn(batch):
    share = tf.reduce_sum(batch, axis=1, keepdims=True)
    return tf.reduce_mean((model(batch) - tf.math.log(share)) ** 2)

@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        loss = loss_fn(batch)
    weights = model.trainable_variables
    adam.apply_gradients(zip(tape.gradient(loss, weights), weights))
    return {"loss": loss}
""",
    """\
checkpoint = tf.train.Checkpoint(model=model, adam=adam)
run = nbtrain.train(train_step, data=data, epochs=50, checkpoint=checkpoint, name="cause")
""",
)


def test_a_click_names_the_cell_and_the_line(browser: Browser, lab: Lab) -> None:
    path = lab.notebook("cause", *CELLS)
    with opened(browser, lab, path) as page:
        for cell in range(len(CELLS)):
            page.run(cell)
        panel = page.panel(2)
        phase(panel, "paused at a bad loss")
        panel.get_by_role("button", name="Find the cause").click()
        answer = panel.locator("[data-role=message-actions] [data-role=answers]")
        expect(answer).to_contain_text(
            "✓ log of 0 in loss_fn (cell 2, line 3) at step 76: 1 of 8 values is 0"
        )
        phase(panel, "paused at a bad loss")
        if where := os.environ.get("NBTRAIN_SCREENSHOTS"):
            panel.screenshot(path=f"{where}/cause.png")
