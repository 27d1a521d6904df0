"""litellm as a client: a tool loop over its OpenAI-compatible provider."""

import json

import litellm
from common import AGENT, KEY, MODEL, TASK, report, step

TOOL = {
    "type": "function",
    "function": {
        "name": "step",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
}
messages = [{"role": "user", "content": TASK}]
while True:
    reply = litellm.completion(
        model=f"openai/{MODEL}", api_base=AGENT, api_key=KEY, messages=messages, tools=[TOOL]
    )
    message = reply.choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        result = step(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
report(message.content)
