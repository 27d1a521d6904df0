"""What every client script shares: where the gateways are, the task, and the report."""

import json
import os

MODEL = "openai/gpt-oss-20b"
KEY = "none"
# In front of a scripted model that works through a task of three calls.
AGENT = os.environ["AGENT_URL"]
# In front of the demo engine, which answers as a schema demands.
DEMO = os.environ["DEMO_URL"]
TASK = os.environ["TASK"]


def step(n: int) -> str:
    """Take step n."""
    taken.append(n)
    return f"step {n} is done"


# The steps that the client had taken, in order.
taken: list[int] = []


def report(answer: str, **checks: bool) -> None:
    print(json.dumps({"answer": answer, "steps": list(taken), "checks": checks}))
