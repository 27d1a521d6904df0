"""Inspect's evaluation of the gateway: answers, tools, an agent and a schema, through each provider that fits one of its APIs."""

import json
import os

from inspect_ai import Task, eval, task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import accuracy, exact, includes, Score, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import ToolFunction, tool
from inspect_ai.util import json_schema
from pydantic import BaseModel

MODEL = os.environ["MODEL"]
URL = os.environ["GATEWAY_URL"]
ROOT = URL.removesuffix("/v1")
OPENAI = f"openai-api/gateway/{MODEL}"
# Anthropic's SDK refuses a plain request whose output may be as long as Inspect's default, and reasons when asked to.
THINKING = GenerateConfig(max_tokens=8000, reasoning_effort="medium")
PROVIDERS = {
    "Chat Completions": (OPENAI, URL, {"stream": False}),
    "Chat Completions, streamed": (OPENAI, URL, {"stream": True}),
    "Responses": (OPENAI, URL, {"responses_api": True, "stream": False}),
    "Responses, streamed": (OPENAI, URL, {"responses_api": True, "stream": True}),
    "OpenRouter": (f"openrouter/{MODEL}", f"{ROOT}/api/v1", {}),
    "vLLM": (f"vllm/{MODEL}", URL, {}),
    "Messages": (f"anthropic/{MODEL}", ROOT, {"streaming": False, "config": THINKING}),
    "Messages, streamed": (f"anthropic/{MODEL}", ROOT, {"streaming": True, "config": THINKING}),
}


class City(BaseModel):
    name: str
    inhabitants: int
    rivers: list[str]


@tool
def weather():
    async def execute(city: str):
        """Looks up the weather.

        Args:
            city: The city's name.
        """
        return "It is 21 degrees."

    return execute


@tool
def traffic():
    async def execute(road: str, hour: int = 12):
        """Looks up the traffic.

        Args:
            road: The road's name.
            hour: The hour of the day.
        """
        return "There are 3 cars."

    return execute


@scorer(metrics=[accuracy()])
def is_city():
    async def score(state, target):
        try:
            City.model_validate_json(state.output.completion, strict=True)
        except ValueError as error:
            return Score(value="I", explanation=str(error))
        return Score(value="C")

    return score


@scorer(metrics=[accuracy()])
def thinks():
    """The reasoning stands apart from the answer, and is counted."""

    async def score(state, target):
        kinds = [part.type for part in state.output.message.content if not isinstance(part, str)]
        usage = state.output.usage
        counted = usage is not None and usage.output_tokens > 0 and usage.input_tokens > 0
        return Score(value="C" if kinds == ["reasoning", "text"] and counted else "I", explanation=str(kinds))

    return score


@task
def answers():
    # The demo engine repeats what it hears.
    texts = ["Say hello.", "Γειά σου 🙂", "你好，世界", "a </think> b", "x" * 300]
    return Task(dataset=[Sample(id=text[:20], input=text, target=text) for text in texts], scorer=includes())


@task
def reasoning():
    return Task(dataset=[Sample(id="stands apart", input="A haiku?")], scorer=thinks())


@task
def tools():
    # It calls the tools that the question names, and says what they returned, and how much of its reasoning it still has.
    samples = [
        Sample(id="one call", input="Look at the weather.", target="21 degrees"),
        Sample(id="two calls", input="Look at the weather, then at the traffic.", target="3 cars"),
        Sample(id="reasoning is kept", input="The weather, then the traffic.", target="could read 2 analysis messages"),
    ]
    return Task(dataset=samples, solver=[use_tools(weather(), traffic()), generate()], scorer=includes())


@task
def forced():
    choice = use_tools(weather(), traffic(), tool_choice=ToolFunction("traffic"))
    sample = Sample(id="a tool that the question does not name", input="Good morning.", target="3 cars")
    return Task(dataset=[sample], solver=[choice, generate()], scorer=includes())


@task
def agent():
    # Only the arguments of its tool `submit` are the whole answer.
    sample = Sample(id="ends by its own tool", input="The weather, then submit.", target="submit.")
    return Task(dataset=[sample], solver=react(tools=[weather()]), scorer=exact(), message_limit=12)


@task
def schema():
    form = ResponseSchema(name="city", json_schema=json_schema(City), strict=True)
    sample = Sample(id="an object", input="Which city?")
    return Task(dataset=[sample], config=GenerateConfig(response_schema=form), scorer=is_city())


def main() -> None:
    results = []
    for provider, (name, url, options) in PROVIDERS.items():
        model = get_model(name, base_url=url, api_key="none", **options)
        tasks = [answers(), reasoning(), tools(), forced(), agent(), schema()]
        for log in eval(tasks, model=model, log_dir="logs", log_format="json", display="none", fail_on_error=False):
            for sample in log.samples or []:
                scores = list((sample.scores or {}).values())
                passed = sample.error is None and len(scores) == 1 and scores[0].value == "C"
                status = "passed" if passed else "failed"
                results.append({"id": f"{provider}: {log.eval.task}: {sample.id}", "status": status})
                if not passed:
                    print(results[-1]["id"], sample.error.message if sample.error else scores, sample.output.completion[:300])
    with open("result.json", "w") as file:
        json.dump({"results": results}, file)


main()
