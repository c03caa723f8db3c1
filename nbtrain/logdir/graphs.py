"""The graphs of a logdir, each with its scopes; the ones that were shown last are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

from nbtrain.logdir.hierarchy import Hierarchy
from nbtrain.logdir.reader import Reader
from nbtrain.logdir.summaries import Summaries
from nbtrain.tfevents.graphs import Graph

_KEPT = 3  # a graph of 20,000 nodes has about 30 MB


class Graphs(Summaries):
    """Runs and tags with the graphs that were written; any thread may use it.

    The tag of a graph that is no summary is `graph`, or `meta_graph` if a run has only a meta
    graph.

    Args:
        reader: Reads the event files.
    """

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader, "graphs")
        self._made: OrderedDict[tuple[str, str, str], Hierarchy] = OrderedDict()
        self._lock = threading.Lock()  # protects _made; one graph is decoded at a time

    def hierarchy(self, run: str, tag: str) -> tuple[str, Hierarchy]:
        """Returns a text that identifies the newest graph of a tag, and the graph.

        A restart does not abandon a graph, because the step of a graph means nothing.

        Raises:
            UnknownTagError: There is no such run or tag.
            ArgumentError: The value is not a graph.
            OSError: The file is gone or was changed.
        """
        history = self[run, tag]
        key = (run, tag, f"{len(history)}:{float(history.wall_times[-1])!r}")
        with self._lock:
            if key not in self._made:
                graph = history[-1]
                assert isinstance(graph, Graph)
                self._made[key] = Hierarchy(graph)
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            self._made.move_to_end(key)
            return key[-1], self._made[key]
