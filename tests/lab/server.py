"""A JupyterLab whose kernels are forked: `python -m tests.lab.server`, with its own options."""

from __future__ import annotations

from tests.kernels import forked_kernels, load_ahead


def main() -> None:
    """Be the server until it is ended."""
    from jupyterlab.labapp import main as serve  # type: ignore[import-untyped]

    load_ahead()
    with forked_kernels():
        serve()


if __name__ == "__main__":
    main()
