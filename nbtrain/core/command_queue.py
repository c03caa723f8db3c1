"""The queue of commands for a training thread, executed in order or at planned steps.

    queue.post(command)                        # at the next step boundary
    queue.post(command, at=100)                # once the run has done step 100
    queue.post(command, at=100, standing=True) # each time that it has done step 100: again after
                                               #   the run went back, and in later starts
    queue.plan(receipt, 300)                   # again at step 300: a trial, whose receipt is
                                               #   answered at its end

A planned command is withdrawn by `withdraw`, or by `drop_standing` up to a step. If the loop ends
before its step, `get_unreached` returns it, or `close` refuses it.
"""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable

from nbtrain.core.commands import NO_SENDER, Command, Sender, Stop
from nbtrain.core.current_step import CurrentStep
from nbtrain.core.receipts import Outcome, Receipt

# Commands whose ids are known: those of the last minutes, also of a page that sends many.
_IDS_KEPT = 4096


class CommandQueue:
    """Commands on their way to one training thread; opened when it starts, closed when it ends.

    The queue is bounded: when `limit` commands wait, others are refused at once, except a Stop.
    Commands planned for a later step do not count.

    Attributes:
        steps: The step that the training thread is at; None before its first start.
        attention: Whether the training thread should interrupt its steps; see `call`.
        thread: Identity of the training thread, which sets it.
    """

    def __init__(self, limit: int = 64) -> None:
        self._limit = limit
        self._waiting: deque[Receipt] = deque()
        self._planned: list[tuple[int, int, Receipt]] = []  # a heap ordered by step
        self._changed = threading.Condition()  # protects all of these except `_standing`
        # From `post(standing=True)`: the step, and a receipt for each time that it is planned.
        self._standing: list[tuple[int, list[Receipt]]] = []
        self._by_id: dict[str, Receipt] = {}
        self._closed: str | None = "the run has not been started"
        self._coming = True  # whether a start to plan for can still come
        self._woken = False
        self.steps: CurrentStep | None = None
        self.attention = False
        self.thread = 0

    @property
    def waiting(self) -> bool:
        """True if a command waits. Any thread may read it."""
        return bool(self._waiting)

    @property
    def next_step(self) -> float:
        """The step for which the next command is planned; infinity for none."""
        planned = self._planned
        return planned[0][0] if planned else float("inf")

    def post(
        self,
        command: Command,
        *,
        step: int = 0,
        at: int | None = None,
        standing: bool = False,
        sender: Sender = NO_SENDER,
        refusal: str | None = None,
    ) -> Receipt:
        """Queues a command and returns its receipt at once. Any thread may call it.

        A command with the id of an earlier one is not queued again: the earlier receipt is
        returned.

        Args:
            step: Steps completed so far, for the answer to an immediate refusal.
            at: The step at whose end it is executed; None for the next boundary. Planned commands
                may be posted before the first start.
            standing: Whether to execute it each time that the run reaches that step: again after
                going back, and in later starts.
            sender: The origin of the command.
            refusal: Why it is refused at once; None if it is not.
        """
        receipt = Receipt(command, thread=self.thread, sender=sender)
        with self._changed:
            if sender.id:
                known = self._by_id.setdefault(sender.id, receipt)
                if known is not receipt:
                    return known
                if len(self._by_id) > _IDS_KEPT:
                    del self._by_id[next(iter(self._by_id))]
            if refusal is None and not (self._coming and at is not None):
                refusal = self._closed
            full = (
                at is None and len(self._waiting) >= self._limit and not isinstance(command, Stop)
            )
            if refusal is None and full:
                refusal = f"{self._limit} commands wait already; the step at hand is still running"
            if refusal is None:
                if at is None:
                    self._waiting.append(receipt)
                else:
                    heapq.heappush(self._planned, (at, receipt.number, receipt))
                self.call()
                self._changed.notify_all()
        if refusal is not None:
            receipt.answer(Outcome(applied=False, step=step, text=refusal))
        elif at is not None and standing:
            self._standing.append((at, [receipt]))
        return receipt

    def get(self, step: int = 0, *, wait: bool = False) -> Receipt | None:
        """Returns a command planned for this step, else the oldest, or None; training thread only.

        Args:
            step: Steps completed so far.
            wait: Whether to block until there is one, or until `wake` is called (which returns
                None).
        """
        with self._changed:
            if wait:
                self._changed.wait_for(
                    lambda: self._waiting or self._woken or self.next_step <= step
                )
            if self.next_step <= step:
                return heapq.heappop(self._planned)[-1]
            return self._waiting.popleft() if self._waiting else None

    def get_unreached(self, kinds: tuple[type[Command], ...]) -> Receipt | None:
        """Returns the first planned command of some kinds, or None; training thread only.

        The other planned commands stay, for `close` to refuse them.
        """
        with self._changed:
            found = (each for each in sorted(self._planned) if isinstance(each[-1].command, kinds))
            if (first := next(found, None)) is None:
                return None
            self._planned.remove(first)
            heapq.heapify(self._planned)
            return first[-1]

    def plan(self, receipt: Receipt, at: int) -> None:
        """Plans a command from `get` again, for a later step; training thread only."""
        with self._changed:
            heapq.heappush(self._planned, (at, receipt.number, receipt))

    def withdraw(self, receipt: Receipt) -> None:
        """Removes a planned command; training thread only."""
        with self._changed:
            self._planned = sorted(each for each in self._planned if each[-1] is not receipt)

    def rewind(self, step: int, led: Callable[[Receipt], bool]) -> None:
        """Plans standing commands again from this step on, after the run has gone to it.

        Training thread only.

        Args:
            led: Returns whether the execution of a command belongs to the past of this step. A
                command with such an execution is no longer planned for an earlier step.
        """
        for at, receipts in self._standing:
            newest = receipts[-1]
            if newest.outcome is not None and at >= step:
                receipts.append(self.post(newest.command, step=step, at=at))
            elif newest.outcome is None and at < step and any(map(led, receipts)):
                self.withdraw(receipts.pop())

    def drop_standing(self, step: int) -> None:
        """Drops standing commands for steps up to this one; training thread only."""
        for receipts in [receipts for at, receipts in self._standing if at <= step]:
            self.withdraw(receipts[-1])
        self._standing = [each for each in self._standing if each[0] > step]

    def wake(self) -> None:
        """Makes `get` return instead of waiting, now and later. Any thread may call it."""
        with self._changed:
            self._woken = True
            self.call()
            self._changed.notify_all()

    def call(self) -> None:
        """Makes the training thread interrupt its steps at the next boundary; any thread.

        The flag is set first. The training thread checks it after setting the step of its next
        interruption, so no call is lost.
        """
        self.attention = True
        if self.steps is not None:
            self.steps.next = 0

    def open(self) -> None:
        """Accepts commands; called before a training thread starts."""
        with self._changed:
            self._closed, self._woken, self._coming = None, False, False

    def close(self, reason: str, *, step: int) -> None:
        """Refuses waiting and later commands with `reason`; the training thread has ended."""
        with self._changed:
            self._closed, self._coming = reason, False
            left = [(receipt, reason) for receipt in self._waiting]
            planned = sorted(self._planned)
            left += [(receipt, f"{reason} before step {at:,}") for at, _, receipt in planned]
            self._waiting, self._planned = deque(), []
        for receipt, text in left:
            receipt.answer(Outcome(applied=False, step=step, text=text))
