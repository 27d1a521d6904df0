"""openai, Responses: a loop over `previous_response_id`, one without stored state, and `parse`."""

import json

from common import AGENT, DEMO, KEY, MODEL, TASK, report, step, taken
from openai import OpenAI
from pydantic import BaseModel

TOOL = {
    "type": "function",
    "name": "step",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    "strict": False,
}


class City(BaseModel):
    name: str
    people: int


client = OpenAI(base_url=AGENT, api_key=KEY)


def results(response):
    return [
        {
            "type": "function_call_output",
            "call_id": item.call_id,
            "output": step(**json.loads(item.arguments)),
        }
        for item in response.output
        if item.type == "function_call"
    ]


with client.responses.stream(model=MODEL, input=TASK, tools=[TOOL]) as stream:
    response = stream.get_final_response()
while outputs := results(response):
    response = client.responses.create(
        model=MODEL, input=outputs, previous_response_id=response.id, tools=[TOOL]
    )
stored_answer, stored_steps = response.output_text, list(taken)
taken.clear()

history = [{"role": "user", "content": TASK}]
while True:
    response = client.responses.create(
        model=MODEL, input=history, tools=[TOOL], store=False, include=["reasoning.encrypted_content"]
    )
    history += response.output
    outputs = results(response)
    if not outputs:
        break
    history += outputs

parsed = OpenAI(base_url=DEMO, api_key=KEY).responses.parse(model=MODEL, input="A city?", text_format=City)
report(
    response.output_text,
    **{
        "the loop over stored responses ends the same": (stored_answer, stored_steps)
        == (response.output_text, taken),
        "`parse` gives the model's type": isinstance(parsed.output_parsed, City),
    },
)
