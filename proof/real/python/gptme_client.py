"""gptme: three commands in a shell, streamed and plain, and an error."""

import os
import pathlib
import subprocess
import sys
import tempfile

from common import AGENT, KEY, MODEL, report

FORMS = {"streamed": "--stream", "plain": "--no-stream"}


def run(prompt: str, form: str, model: str = MODEL) -> tuple[str, str, int]:
    """What the commands wrote, what gptme printed, and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder, "home")
        work = pathlib.Path(folder, "work")
        home.mkdir()
        work.mkdir()
        done = subprocess.run(
            [
                os.path.join(os.path.dirname(sys.executable), "gptme"),
                *["--non-interactive", "--model", f"local/{model}", "--tools", "shell"],
                *["--system", "short", "--tool-format", "tool", "--no-workspace", form, prompt],
            ],
            cwd=work,
            env={
                **os.environ,
                "HOME": str(home),
                "OPENAI_BASE_URL": AGENT,
                "OPENAI_API_KEY": KEY,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        steps = work / "steps.txt"
        out = done.stdout + done.stderr
        print(out[-4000:], file=sys.stderr)
        return steps.read_text() if steps.exists() else "", out, done.returncode


ends = {label: run(os.environ["SHELL_TASK"], form) for label, form in FORMS.items()}
_, printed, code = run("Hi", "--stream", "no-such-model")
report(
    "",
    **{f"three commands, {label}": (steps, exit) == ("1\n2\n3\n", 0) for label, (steps, _, exit) in ends.items()},
    **{"an unknown model is an error": "no-such-model" in printed and code != 0},
)
