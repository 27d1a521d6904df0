"""instructor: types by tools, by JSON schema, and streamed in part. It has no tool loop."""

import instructor
from common import DEMO, KEY, MODEL, report
from openai import OpenAI
from pydantic import BaseModel


class City(BaseModel):
    name: str
    people: int


def ask(mode: instructor.Mode) -> bool:
    client = instructor.from_openai(OpenAI(base_url=DEMO, api_key=KEY), mode=mode)
    messages = [{"role": "user", "content": "A city?"}]
    return isinstance(client.create(model=MODEL, messages=messages, response_model=City), City)


report(
    "",
    **{
        "a type by tools": ask(instructor.Mode.TOOLS),
        "a type by JSON schema": ask(instructor.Mode.JSON_SCHEMA),
    },
)
