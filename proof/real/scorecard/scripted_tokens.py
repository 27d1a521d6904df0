"""A logits processor for vLLM that makes the model say what a script says.

The server, its engine and its sampler stay vLLM's own. README.md describes the script and its rules; `scripted.c` does
the same for llama-server.
"""

import os
from pathlib import Path

import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor, MoveDirectionality

RETURN = 200002
MESSAGE = 200008
# `<|start|>assistant`: what a prompt ends with when a turn begins.
OPENING = [200006, 173781]
ANALYSIS = 35644
FORCED = 1e4


def turn_of(prompt: list[int]) -> list[int]:
    for end in range(len(prompt), 1, -1):
        if prompt[end - 2 : end] == OPENING:
            return prompt[:end]
    return prompt


class ScriptedTokens(LogitsProcessor):
    def __init__(self, vllm_config, device: torch.device, is_pin_memory: bool) -> None:
        self.state = Path(os.environ["SCORECARD_STATE"])
        self.number = None
        self.calls = 0
        # The prompt up to where the model's turn begins.
        self.turn: list[int] = []
        self.completion: list[int] = []
        # By row of the batch: what its prompt has of the answer, and what was said since (the engine's own, growing list).
        self.rows: dict[int, tuple[list[int], list[int]]] = {}

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        if batch_update is None:
            return
        for row in batch_update.removed:
            self.rows.pop(row, None)
        for row, _, prompt, said in batch_update.added:
            self.rows.pop(row, None)
            begun = self.begin(prompt or [])
            if begun is not None:
                self.rows[row] = (begun, said)
        for source, target, direction in batch_update.moved:
            moved, replaced = self.rows.pop(source, None), self.rows.pop(target, None)
            if moved is not None:
                self.rows[target] = moved
            if replaced is not None and direction == MoveDirectionality.SWAP:
                self.rows[source] = replaced

    def begin(self, prompt: list[int]) -> list[int] | None:
        """What this prompt has of the answer. None while there is no script: the model answers by itself."""
        try:
            number, *lines = (self.state / "script.txt").read_text().split("\n")
        except FileNotFoundError:
            return None
        with (self.state / "prompts.txt").open("a") as file:
            file.write(" ".join(map(str, [number, *prompt])) + "\n")
        if number != self.number:
            self.number, self.calls = number, 0
        elif prompt[: len(self.turn)] == self.turn and self.is_known(prompt[len(self.turn) :]):
            return prompt[len(self.turn) :]
        line = lines[self.calls] if self.calls < len(lines) else ""
        self.calls += 1
        self.turn, self.completion = turn_of(prompt), [int(token) for token in line.split()]
        return prompt[len(self.turn) :]

    def is_known(self, begun: list[int]) -> bool:
        if len(begun) > len(self.completion) and begun[: len(self.completion)] == self.completion:
            return False
        return begun[-2:] != OPENING or begun == self.completion[: len(begun)]

    def next_token(self, begun: list[int]) -> int | None:
        """What the completion says after this beginning. None in a header that is not the completion's own.

        After its last message, the end.
        """
        completion = self.completion
        if not completion:
            return RETURN
        at = len(begun)
        if begun != completion[:at]:
            bodies = [at + 1 for at, token in enumerate(completion) if token == MESSAGE]
            said = begun.count(MESSAGE)
            if said == 0:
                return None
            if said == 1 and ANALYSIS not in begun:
                # The gateway has opened the message that it demands.
                said = len(bodies)
            if not bodies or said > len(bodies):
                return RETURN
            body = begun[len(begun) - begun[::-1].index(MESSAGE) :]
            at = bodies[said - 1] + len(body)
            if body != completion[bodies[said - 1] : at]:
                return None
        return completion[at] if at < len(completion) else RETURN

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        for row, (begun, said) in self.rows.items():
            token = self.next_token(begun + said)
            if token is None:
                continue
            if logits[row, token] > float("-inf"):
                logits[row, token] = FORCED
            else:
                (self.state / "refused.txt").write_text(self.number)
        return logits
