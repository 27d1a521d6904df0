"""anthropic: a tool loop over Messages with thinking, streamed, and its tool runner."""

from anthropic import Anthropic, beta_tool
from common import AGENT, KEY, MODEL, TASK, report, step, taken

client = Anthropic(base_url=AGENT.removesuffix("/v1"), api_key=KEY)
TOOL = {
    "name": "step",
    "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
}
options = {"model": MODEL, "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}

messages = [{"role": "user", "content": TASK}]
while True:
    with client.messages.stream(**options, messages=messages, tools=[TOOL]) as stream:
        message = stream.get_final_message()
    messages.append({"role": "assistant", "content": message.content})
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": step(**call.input)} for call in calls]
    messages.append({"role": "user", "content": results})
answer, steps = message.content[-1].text, list(taken)
taken.clear()

final = client.beta.messages.tool_runner(
    **options, messages=[{"role": "user", "content": TASK}], tools=[beta_tool(step)]
).until_done()
report(
    answer,
    **{"the tool runner ends the same": (final.content[-1].text, taken) == (answer, steps)},
)
