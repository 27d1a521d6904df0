"""langchain-openai with LangGraph's agent: over Chat Completions and Responses, and structured output."""

from common import AGENT, DEMO, KEY, MODEL, TASK, report, step, taken
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from pydantic import BaseModel


class City(BaseModel):
    """A city."""

    name: str
    people: int


def run(**options) -> tuple[str, list[int]]:
    taken.clear()
    model = ChatOpenAI(model=MODEL, base_url=AGENT, api_key=KEY, **options)
    state = create_react_agent(model, [step]).invoke({"messages": [("user", TASK)]})
    return state["messages"][-1].text, list(taken)


over_chat = run()
over_responses = run(use_responses_api=True, output_version="responses/v1")
demo = ChatOpenAI(model=MODEL, base_url=DEMO, api_key=KEY)
report(
    over_chat[0],
    **{
        "a loop over Responses ends the same": over_chat == over_responses,
        "structured output": isinstance(demo.with_structured_output(City).invoke("A city?"), City),
    },
)
