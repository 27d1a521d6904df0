// go-openai: a loop of three calls over Chat Completions, plain and streamed, and over Responses; an error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	openai "github.com/sashabaranov/go-openai"
)

const model = "openai/gpt-oss-20b"

var ctx = context.Background()

var function = openai.FunctionDefinition{
	Name: "step",
	Parameters: json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
}

type end struct {
	answer string
	steps  []int
}

func client(variable string) *openai.Client {
	config := openai.DefaultConfig("none")
	config.BaseURL = os.Getenv(variable)
	return openai.NewClientWithConfig(config)
}

func (e *end) take(arguments string) string {
	var input struct{ N int }
	must(json.Unmarshal([]byte(arguments), &input))
	e.steps = append(e.steps, input.N)
	return fmt.Sprintf("step %d is done", input.N)
}

func chatLoop(streamed bool) (e end) {
	messages := []openai.ChatCompletionMessage{{Role: "user", Content: os.Getenv("TASK")}}
	for {
		request := openai.ChatCompletionRequest{
			Model:    model,
			Messages: messages,
			Tools:    []openai.Tool{{Type: openai.ToolTypeFunction, Function: &function}},
		}
		message := ask(request, streamed)
		if len(message.ToolCalls) == 0 {
			e.answer = message.Content
			return e
		}
		messages = append(messages, message)
		for _, call := range message.ToolCalls {
			messages = append(messages, openai.ChatCompletionMessage{
				Role: "tool", ToolCallID: call.ID, Content: e.take(call.Function.Arguments),
			})
		}
	}
}

func ask(request openai.ChatCompletionRequest, streamed bool) openai.ChatCompletionMessage {
	if !streamed {
		response, err := client("AGENT_URL").CreateChatCompletion(ctx, request)
		must(err)
		return response.Choices[0].Message
	}
	stream, err := client("AGENT_URL").CreateChatCompletionStream(ctx, request)
	must(err)
	defer stream.Close()
	message := openai.ChatCompletionMessage{Role: "assistant"}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return message
		}
		must(err)
		for _, choice := range chunk.Choices {
			message.Content += choice.Delta.Content
			message.ReasoningContent += choice.Delta.ReasoningContent
			for _, part := range choice.Delta.ToolCalls {
				for len(message.ToolCalls) <= *part.Index {
					message.ToolCalls = append(message.ToolCalls, openai.ToolCall{Type: "function"})
				}
				call := &message.ToolCalls[*part.Index]
				call.ID += part.ID
				call.Function.Name += part.Function.Name
				call.Function.Arguments += part.Function.Arguments
			}
		}
	}
}

func responsesLoop(streamed bool) (e end) {
	request := openai.CreateResponseRequest{
		Model: model,
		Input: os.Getenv("TASK"),
		Tools: []openai.ResponseTool{openai.NewResponseFunctionTool(function)},
	}
	for {
		response := respond(request, streamed)
		var results []any
		for _, output := range response.Output {
			var item openai.ResponseOutputItem
			text, _ := json.Marshal(output)
			must(json.Unmarshal(text, &item))
			if item.Type == "function_call" {
				results = append(results, openai.ResponseFunctionCallOutput{
					Type: "function_call_output", CallID: item.CallID, Output: e.take(item.Arguments),
				})
			}
		}
		if results == nil {
			e.answer = response.GetOutputText()
			return e
		}
		request.Input = results
		request.PreviousResponseID = response.ID
	}
}

func respond(request openai.CreateResponseRequest, streamed bool) openai.CreateResponseResponse {
	if !streamed {
		response, err := client("AGENT_URL").CreateResponse(ctx, request)
		must(err)
		return response
	}
	stream, err := client("AGENT_URL").CreateResponseStream(ctx, request)
	must(err)
	defer stream.Close()
	for {
		event, err := stream.Recv()
		must(err)
		if event.Type == "response.completed" {
			return *event.Response
		}
	}
}

func isUnknown(err error) bool {
	var failure *openai.APIError
	if !errors.As(err, &failure) {
		fmt.Fprintln(os.Stderr, err)
		return false
	}
	return failure.HTTPStatusCode == 400 && failure.Code == "model_not_found"
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	plain := chatLoop(false)
	request := openai.ChatCompletionRequest{
		Model:    "no-such-model",
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hi"}},
	}
	_, err := client("DEMO_URL").CreateChatCompletion(ctx, request)
	_, streamErr := client("DEMO_URL").CreateChatCompletionStream(ctx, request)
	report, _ := json.Marshal(map[string]any{
		"answer": plain.answer,
		"steps":  plain.steps,
		"checks": map[string]bool{
			"a streamed loop ends the same":                 reflect.DeepEqual(chatLoop(true), plain),
			"a loop over responses ends the same":           reflect.DeepEqual(responsesLoop(false), plain),
			"a loop over streamed responses ends the same":  reflect.DeepEqual(responsesLoop(true), plain),
			"an unknown model is an error":                  isUnknown(err),
			"an unknown model is an error of a stream, too": isUnknown(streamErr),
		},
	})
	fmt.Println(string(report))
}
