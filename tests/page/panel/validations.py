"""Curves of validations on a page."""

from __future__ import annotations

from playwright.sync_api import Locator

EPOCH = 8  # batches


# Opaque pixels of the two colours of the light theme: blue, which is trained, and orange.
COLOURS = """\
canvas => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const count = (r, g, b) => {
    let n = 0;
    for (let i = 0; i < data.length; i += 4)
      n += data[i + 3] > 200 && Math.hypot(data[i] - r, data[i + 1] - g, data[i + 2] - b) < 30;
    return n;
  };
  return [count(0x1a, 0x6f, 0xb0), count(0xc7, 0x53, 0x00)];
}"""


def chart(panel: Locator, tag: str) -> Locator:
    return panel.locator(f"section[data-tag={tag}]")


def colours(panel: Locator, tag: str) -> tuple[int, int]:
    """Counts the blue and the orange pixels of a chart."""
    blue, orange = chart(panel, tag).locator("canvas").evaluate(COLOURS)
    return blue, orange


def wait_for_epochs(panel: Locator, count: int) -> None:
    panel.page.wait_for_function(
        "([panel, step]) => Number(panel.dataset.step) > step",
        arg=[panel.element_handle(), count * EPOCH],
    )
