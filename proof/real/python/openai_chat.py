"""openai, Chat Completions: a tool loop that appends the SDK's own messages, the stream helper and `parse`."""

import json

from common import AGENT, DEMO, KEY, MODEL, TASK, report, step
from openai import OpenAI
from pydantic import BaseModel

TOOL = {
    "type": "function",
    "function": {
        "name": "step",
        "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
}


class City(BaseModel):
    name: str
    people: int


client = OpenAI(base_url=AGENT, api_key=KEY)
messages = [{"role": "user", "content": TASK}]
while True:
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=[TOOL]) as stream:
        message = stream.get_final_completion().choices[0].message
    messages.append(message)
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        result = step(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})

parsed = OpenAI(base_url=DEMO, api_key=KEY).chat.completions.parse(
    model=MODEL, messages=[{"role": "user", "content": "A city?"}], response_format=City
)
report(
    message.content,
    **{"`parse` gives the model's type": isinstance(parsed.choices[0].message.parsed, City)},
)
