//! async-openai: a loop of three calls over Chat Completions, plain and streamed, and over Responses; an error.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionMessageToolCalls, ChatCompletionRequestMessage,
    CreateChatCompletionRequest, FunctionCall,
};
use async_openai::types::responses::{CreateResponse, OutputItem, ResponseStreamEvent};
use futures::StreamExt;
use serde_json::{Value, json};

const MODEL: &str = "openai/gpt-oss-20b";

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The answer, and the steps that were taken.
type End = (String, Vec<i64>);

fn client(variable: &str) -> Client<OpenAIConfig> {
    let url = env::var(variable).expect(variable);
    Client::with_config(OpenAIConfig::new().with_api_base(url).with_api_key("none"))
}

fn parameters() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
}

fn take(arguments: &str, steps: &mut Vec<i64>) -> Outcome<String> {
    let n = serde_json::from_str::<Value>(arguments)?["n"].as_i64().ok_or("no n")?;
    steps.push(n);
    Ok(format!("step {n} is done"))
}

async fn chat_loop(streamed: bool) -> Outcome<End> {
    let chat = client("AGENT_URL");
    let mut messages = vec![json!({"role": "user", "content": env::var("TASK")?})];
    let mut steps = vec![];
    loop {
        let tool = json!({"type": "function", "function": {"name": "step", "parameters": parameters()}});
        let request: CreateChatCompletionRequest =
            serde_json::from_value(json!({"model": MODEL, "messages": messages, "tools": [tool]}))?;
        let (text, calls) = if streamed {
            read_stream(&chat, request).await?
        } else {
            let response = chat.chat().create(request).await?;
            let message = response.choices.into_iter().next().ok_or("no choice")?.message;
            let calls = message.tool_calls.unwrap_or_default().into_iter().filter_map(|call| match call {
                ChatCompletionMessageToolCalls::Function(call) => Some(call),
                ChatCompletionMessageToolCalls::Custom(_) => None,
            });
            (message.content.unwrap_or_default(), calls.collect())
        };
        if calls.is_empty() {
            return Ok((text, steps));
        }
        let sent: Vec<_> = calls.iter().cloned().map(ChatCompletionMessageToolCalls::Function).collect();
        messages.push(json!({"role": "assistant", "tool_calls": sent}));
        for call in calls {
            let result = take(&call.function.arguments, &mut steps)?;
            messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": result}));
        }
    }
}

async fn read_stream(
    chat: &Client<OpenAIConfig>,
    request: CreateChatCompletionRequest,
) -> Outcome<(String, Vec<ChatCompletionMessageToolCall>)> {
    let mut stream = chat.chat().create_stream(request).await?;
    let mut text = String::new();
    let mut calls: BTreeMap<u32, ChatCompletionMessageToolCall> = BTreeMap::new();
    while let Some(chunk) = stream.next().await {
        for choice in chunk?.choices {
            text += choice.delta.content.as_deref().unwrap_or("");
            for part in choice.delta.tool_calls.unwrap_or_default() {
                let call = calls.entry(part.index).or_insert_with(|| ChatCompletionMessageToolCall {
                    id: String::new(),
                    function: FunctionCall { name: String::new(), arguments: String::new() },
                });
                call.id += part.id.as_deref().unwrap_or("");
                let function = part.function.unwrap_or_default();
                call.function.name += function.name.as_deref().unwrap_or("");
                call.function.arguments += function.arguments.as_deref().unwrap_or("");
            }
        }
    }
    Ok((text, calls.into_values().collect()))
}

async fn responses_loop(streamed: bool) -> Outcome<End> {
    let responses = client("AGENT_URL");
    let mut body = json!({"model": MODEL, "input": env::var("TASK")?});
    let mut steps = vec![];
    loop {
        body["tools"] = json!([{"type": "function", "name": "step", "parameters": parameters(), "strict": false}]);
        let request: CreateResponse = serde_json::from_value(body)?;
        let response = if streamed {
            let mut stream = responses.responses().create_stream(request).await?;
            let mut last = None;
            while let Some(event) = stream.next().await {
                if let ResponseStreamEvent::ResponseCompleted(completed) = event? {
                    last = Some(completed.response);
                }
            }
            last.ok_or("the stream was not completed")?
        } else {
            responses.responses().create(request).await?
        };
        let mut results = vec![];
        for item in &response.output {
            if let OutputItem::FunctionCall(call) = item {
                let output = take(&call.arguments, &mut steps)?;
                results.push(json!({"type": "function_call_output", "call_id": call.call_id, "output": output}));
            }
        }
        if results.is_empty() {
            return Ok((response.output_text().unwrap_or_default(), steps));
        }
        body = json!({"model": MODEL, "input": results, "previous_response_id": response.id});
    }
}

async fn is_unknown(streamed: bool) -> Outcome<bool> {
    let chat = client("DEMO_URL");
    let messages: Vec<ChatCompletionRequestMessage> =
        serde_json::from_value(json!([{"role": "user", "content": "Hi"}]))?;
    let request = CreateChatCompletionRequest { model: "no-such-model".into(), messages, ..Default::default() };
    let error = if streamed {
        match chat.chat().create_stream(request).await {
            Ok(mut stream) => stream.next().await.ok_or("no event")?.err(),
            Err(error) => Some(error),
        }
    } else {
        chat.chat().create(request).await.err()
    };
    Ok(match error {
        Some(OpenAIError::ApiError(error)) => {
            error.status_code.as_u16() == 400 && error.api_error.code.as_deref() == Some("model_not_found")
        }
        other => {
            eprintln!("streamed: {streamed}: {other:?}");
            false
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let (answer, steps) = chat_loop(false).await?;
    let end = (answer.clone(), steps.clone());
    println!(
        "{}",
        json!({
            "answer": answer,
            "steps": steps,
            "checks": {
                "a streamed loop ends the same": chat_loop(true).await? == end,
                "a loop over responses ends the same": responses_loop(false).await? == end,
                "a loop over streamed responses ends the same": responses_loop(true).await? == end,
                "an unknown model is an error": is_unknown(false).await?,
                "an unknown model is an error of a stream, too": is_unknown(true).await?,
            },
        })
    );
    Ok(())
}
