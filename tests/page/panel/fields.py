"""Fields of hyperparameters on a page."""

from __future__ import annotations

from playwright.sync_api import Locator


def slider(panel: Locator, name: str) -> Locator:
    return panel.locator(f"[data-hyperparameter={name}] input[type=range]")


def field(panel: Locator, name: str) -> Locator:
    return panel.locator(f"[data-hyperparameter={name}] input[type=text]")
