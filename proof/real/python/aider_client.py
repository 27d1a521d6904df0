"""aider: one edit of a file in a repository of its own, in front of the scripted model."""

import os
import pathlib
import subprocess
import sys
import tempfile

from common import AGENT, KEY, MODEL, report

with tempfile.TemporaryDirectory() as folder:
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    file = pathlib.Path(folder, "greeting.txt")
    file.write_text("nothing yet\n")
    run = subprocess.run(
        [
            os.path.join(os.path.dirname(sys.executable), "aider"),
            *["--model", f"openai/{MODEL}", "--openai-api-base", AGENT, "--openai-api-key", KEY],
            *["--edit-format", "whole", "--yes-always", "--no-auto-commits", "--no-gitignore"],
            *["--no-check-update", "--no-show-model-warnings", "--analytics-disable", "--no-pretty"],
            *["--message", os.environ["EDIT"], "greeting.txt"],
        ],
        cwd=folder,
        env={**os.environ, "HOME": folder},
        capture_output=True,
        text=True,
        timeout=240,
    )
    print(run.stdout, run.stderr, file=sys.stderr)
    report("", **{"the file is edited as the model wrote": file.read_text() == "hello\n"})
