"""llama-index: its function agent over an OpenAI-like model."""

import asyncio

from common import AGENT, KEY, MODEL, TASK, report, step
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(
    model=MODEL,
    api_base=AGENT,
    api_key=KEY,
    is_chat_model=True,
    is_function_calling_model=True,
    context_window=131072,
)


async def main() -> None:
    agent = FunctionAgent(tools=[step], llm=model)
    report(str(await agent.run(user_msg=TASK)))


asyncio.run(main())
