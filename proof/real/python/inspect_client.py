"""Inspect: `openai-api` over both APIs of OpenAI and `vllm`, plain and streamed; a tool loop, and an error."""

import asyncio

from common import AGENT, DEMO, KEY, MODEL, TASK, report, step as take, taken
from inspect_ai.model import ChatMessageUser, GenerateConfig, get_model
from inspect_ai.tool import tool

LOOPS = {
    "Chat Completions": (f"openai-api/gateway/{MODEL}", {"stream": False}),
    "Chat Completions, streamed": (f"openai-api/gateway/{MODEL}", {"stream": True}),
    "Responses": (f"openai-api/gateway/{MODEL}", {"responses_api": True}),
    "vllm": (f"vllm/{MODEL}", {"stream": False}),
    "vllm, streamed": (f"vllm/{MODEL}", {"stream": True}),
}


@tool
def step():
    async def execute(n: int):
        """Take step n.

        Args:
            n: The number of the step.
        """
        return take(n)

    return execute


async def loop(name: str, options: dict) -> tuple[str, list[int]]:
    taken.clear()
    model = get_model(name, base_url=AGENT, api_key=KEY, **options)
    _, output = await model.generate_loop([ChatMessageUser(content=TASK)], tools=[step()])
    return output.completion, list(taken)


async def is_unknown(provider: str) -> bool:
    try:
        await get_model(f"{provider}/no-such-model", base_url=DEMO, api_key=KEY).generate("Hi")
    except Exception as error:
        return "no-such-model" in str(error)
    return False


async def main() -> None:
    ends = {label: await loop(*use) for label, use in LOOPS.items()}
    answer, steps = ends["Chat Completions"]
    model = get_model(f"openai-api/gateway/{MODEL}", base_url=DEMO, api_key=KEY)
    output = await model.generate("A haiku?", config=GenerateConfig(reasoning_effort="low", max_tokens=500))
    refused = [await is_unknown(provider) for provider in ("openai-api/gateway", "vllm")]
    taken[:] = steps
    report(
        answer,
        **{
            f"the loop ends the same: {label}": end == (answer, steps) and steps == [1, 2, 3]
            for label, end in ends.items()
        },
        **{
            "reasoning stands apart": [part.type for part in output.message.content] == ["reasoning", "text"],
            "usage is counted": output.usage is not None and output.usage.output_tokens > 0,
            "an unknown model is an error": all(refused),
        },
    )


asyncio.run(main())
