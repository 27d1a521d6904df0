"""openai-agents: its runner over Responses, and over Chat Completions."""

import agents
from common import AGENT, KEY, MODEL, TASK, report, step, taken
from openai import AsyncOpenAI

agents.set_tracing_disabled(True)
client = AsyncOpenAI(base_url=AGENT, api_key=KEY)


def run(model: agents.Model) -> tuple[str, list[int]]:
    taken.clear()
    agent = agents.Agent(name="walker", model=model, tools=[agents.function_tool(step)])
    return agents.Runner.run_sync(agent, TASK).final_output, list(taken)


over_chat = run(agents.OpenAIChatCompletionsModel(model=MODEL, openai_client=client))
over_responses = run(agents.OpenAIResponsesModel(model=MODEL, openai_client=client))
report(over_responses[0], **{"a loop over Chat Completions ends the same": over_chat == over_responses})
