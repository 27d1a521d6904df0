"""LangChain's standard tests of a chat model, for langchain-openai over both APIs of OpenAI."""

import os

from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

COMMON = {"model": os.environ["MODEL"], "base_url": os.environ["GATEWAY_URL"], "api_key": "none"}


class TestChatCompletions(ChatModelIntegrationTests):
    @property
    def chat_model_class(self):
        return ChatOpenAI

    @property
    def chat_model_params(self):
        return COMMON

    @property
    def supports_json_mode(self):
        return True


class TestResponses(TestChatCompletions):
    @property
    def chat_model_params(self):
        return {**COMMON, "use_responses_api": True, "output_version": "responses/v1"}
