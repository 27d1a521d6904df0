"""Checks each reply and event in a file of JSON lines against the models of `openai` and `anthropic`: strictly, with no
member that they do not name. Prints each problem once, and how many values it
has checked."""

import collections
import json
import sys

import anthropic.types as messages
import openai.types.chat as chat
import openai.types.conversations as conversations
import openai.types.responses as responses
from openai.types.shared import ErrorObject
from pydantic import BaseModel, TypeAdapter, ValidationError

TYPES = {
    "Chat.ChatCompletion": chat.ChatCompletion,
    "Chat.ChatCompletionChunk": chat.ChatCompletionChunk,
    "Responses.Response": responses.Response,
    "Responses.ResponseStreamEvent": responses.ResponseStreamEvent,
    "Responses.ResponseItemList": responses.ResponseItemList,
    "Responses.InputTokenCountResponse": responses.InputTokenCountResponse,
    "Responses.CompactedResponse": responses.CompactedResponse,
    "Conversations.Conversation": conversations.Conversation,
    "Conversations.ConversationDeletedResource": conversations.ConversationDeletedResource,
    "Conversations.ConversationItem": conversations.ConversationItem,
    "Conversations.ConversationItemList": conversations.ConversationItemList,
    "Messages.Message": messages.Message,
    "Messages.RawMessageStreamEvent": messages.RawMessageStreamEvent,
    "Messages.MessageTokensCount": messages.MessageTokensCount,
    "OpenAIError": ErrorObject,
    "ErrorResponse": messages.ErrorResponse,
}


def unknown_members(value, path=""):
    """The paths of members that a model does not name."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            # TypeScript's type has it as a member; here it is a property.
            if name != "output_text":
                yield f"{path}.{name}"
        for name in type(value).model_fields:
            yield from unknown_members(getattr(value, name), f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from unknown_members(each, path)
    elif isinstance(value, dict):
        for each in value.values():
            yield from unknown_members(each, path)


def problems_of(name, value):
    kind = value.get("type", "") if isinstance(value, dict) else ""
    try:
        parsed = TypeAdapter(TYPES[name]).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        # The first alternative that has the value's own type says most.
        lines = error.errors()
        same = [each for each in lines if each["type"] not in ("literal_error", "missing")] or lines
        best = same[0]
        where = ".".join(str(each) for each in best["loc"] if not isinstance(each, int))
        yield f"{name} {kind}: {where}: {best['msg']}, not {str(best['input'])[:80]!r}"
        return
    for path in unknown_members(parsed):
        yield f"{name} {kind}: unknown member {path}"


checked = collections.Counter()
problems = set()
for line in open(sys.argv[1]):
    answer = json.loads(line)
    value = answer["value"]
    name = answer["type"]
    checked[name] += 1
    problems.update(problems_of(name, value["error"] if name == "OpenAIError" else value))
for problem in sorted(problems):
    print(problem)
print(f"{sum(checked.values())} values of {len(checked)} types")
