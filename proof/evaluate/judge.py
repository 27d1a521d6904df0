"""Executes the functions of BFCL's multi-turn cases and checks their outcome, both with BFCL's own code.

Started by judge.ts with the folder that contains `bfcl_eval`. Reads one JSON object a line, and answers each with one.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

from bfcl_eval.constants.executable_backend_config import MULTI_TURN_FUNC_DOC_FILE_MAPPING
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_checker as checker
from bfcl_eval.eval_checker.multi_turn_eval import multi_turn_utils as utils

answers = sys.stdout
# Functions of the suite may print.
sys.stdout = sys.stderr


def run(request):
    entry, sources, results = json.loads(request["entry"]), [], []
    for call in request["calls"]:
        arguments = json.loads(call["arguments"])
        # BFCL evaluates source text. The name is that of an offered function; keys are the model's.
        if not all(key.isidentifier() for key in arguments):
            results.append("Error during execution: an argument has no valid name")
            continue
        source = f"{call['name']}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
        config, classes, id = entry["initial_config"], entry["involved_classes"], entry["id"]
        executed, _ = utils.execute_multi_turn_func_call(
            [source], config, classes, request["run"], id, "long_context" in id
        )
        sources.append(source)
        results.extend(executed)
    return {"results": results, "sources": sources}


def check(request):
    turns, truth, name = request["turns"], request["truth"], request["run"]
    entry = json.loads(request["entry"])
    try:
        verdict = checker.multi_turn_irrelevance_checker(turns, truth)
        if verdict["valid"]:
            category = entry["id"].rsplit("_", 1)[0]
            verdict = checker.multi_turn_checker(turns, truth, entry, category, name)
    except Exception as error:  # Its checker asserts what a model may break.
        verdict = {"valid": False, "error_type": type(error).__name__}
    # BFCL keeps every instance in its module.
    for each in [each for each in vars(utils) if each.startswith(f"{name}_")]:
        if entry["id"] in each:
            del vars(utils)[each]
    return {"valid": verdict["valid"], "problem": verdict.get("error_type", "")}


OPERATIONS = {"run": run, "check": check, "documents": lambda _: MULTI_TURN_FUNC_DOC_FILE_MAPPING}

for line in sys.stdin:
    request = json.loads(line)
    answers.write(json.dumps(OPERATIONS[request["op"]](request)) + "\n")
    answers.flush()
