"""pydantic-ai: an agent with a tool, and an output type."""

from common import AGENT, DEMO, KEY, MODEL, TASK, report, step
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


class City(BaseModel):
    name: str
    people: int


def model(url: str) -> OpenAIChatModel:
    return OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key=KEY))


result = Agent(model(AGENT), tools=[step]).run_sync(TASK)
city = Agent(model(DEMO), output_type=City).run_sync("A city?")
report(result.output, **{"an output type": isinstance(city.output, City)})
