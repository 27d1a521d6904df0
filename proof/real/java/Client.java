import com.fasterxml.jackson.databind.node.ObjectNode;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.core.ObjectMappers;
import com.openai.errors.OpenAIServiceException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionFunctionTool;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseInputItem;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** openai-java: a loop of three calls over Chat Completions, plain and streamed, and over Responses; an error. */
public class Client {
    static final String MODEL = "openai/gpt-oss-20b";
    static final Map<String, JsonValue> PARAMETERS = Map.of(
        "type", JsonValue.from("object"),
        "properties", JsonValue.from(Map.of("n", Map.of("type", "integer"))),
        "required", JsonValue.from(List.of("n")));

    record End(String answer, List<Integer> steps) {}

    public static void main(String[] args) throws Exception {
        OpenAIClient agent = client("AGENT_URL");
        End end = chatLoop(agent, false);
        ObjectNode report = ObjectMappers.jsonMapper().createObjectNode().put("answer", end.answer);
        end.steps.forEach(report.putArray("steps")::add);
        report.putObject("checks")
            .put("a streamed loop ends the same", chatLoop(agent, true).equals(end))
            .put("a loop over responses ends the same", responsesLoop(agent, false).equals(end))
            .put("a loop over streamed responses ends the same", responsesLoop(agent, true).equals(end))
            .put("an unknown model is an error", isUnknown(false))
            .put("an unknown model is an error of a stream, too", isUnknown(true));
        System.out.println(report);
        // The client's threads would wait for further requests.
        System.exit(0);
    }

    /** Each value is validated: a missing or mistyped member is an error. */
    static OpenAIClient client(String variable) {
        return OpenAIOkHttpClient.builder()
            .baseUrl(System.getenv(variable))
            .apiKey("none")
            .responseValidation(true)
            .build();
    }

    static String take(String arguments, List<Integer> steps) throws Exception {
        int n = ObjectMappers.jsonMapper().readTree(arguments).get("n").asInt();
        steps.add(n);
        return "step " + n + " is done";
    }

    static End chatLoop(OpenAIClient client, boolean streamed) throws Exception {
        var parameters = FunctionParameters.builder().putAllAdditionalProperties(PARAMETERS).build();
        var function = FunctionDefinition.builder().name("step").parameters(parameters).build();
        var request = ChatCompletionCreateParams.builder()
            .model(MODEL)
            .addUserMessage(System.getenv("TASK"))
            .addTool(ChatCompletionFunctionTool.builder().function(function).build());
        var steps = new ArrayList<Integer>();
        while (true) {
            var message = complete(client, request.build(), streamed).choices().get(0).message();
            var calls = message.toolCalls().orElse(List.of());
            if (calls.isEmpty()) return new End(message.content().orElse(""), steps);
            request.addMessage(message);
            for (var call : calls) {
                var made = call.asFunction();
                request.addMessage(ChatCompletionToolMessageParam.builder()
                    .toolCallId(made.id())
                    .content(take(made.function().arguments(), steps))
                    .build());
            }
        }
    }

    static ChatCompletion complete(OpenAIClient client, ChatCompletionCreateParams params, boolean streamed) {
        if (!streamed) return client.chat().completions().create(params);
        var whole = ChatCompletionAccumulator.create();
        try (var stream = client.chat().completions().createStreaming(params)) {
            stream.stream().forEach(whole::accumulate);
        }
        return whole.chatCompletion();
    }

    static End responsesLoop(OpenAIClient client, boolean streamed) throws Exception {
        var parameters = FunctionTool.Parameters.builder().putAllAdditionalProperties(PARAMETERS).build();
        var tool = FunctionTool.builder().name("step").parameters(parameters).strict(false).build();
        var request = ResponseCreateParams.builder().model(MODEL).input(System.getenv("TASK")).addTool(tool);
        var steps = new ArrayList<Integer>();
        while (true) {
            Response response = respond(client, request.build(), streamed);
            var results = new ArrayList<ResponseInputItem>();
            var answer = new StringBuilder();
            for (var item : response.output()) {
                if (item.isFunctionCall()) {
                    var call = item.asFunctionCall();
                    results.add(ResponseInputItem.ofFunctionCallOutput(
                        ResponseInputItem.FunctionCallOutput.builder()
                            .callId(call.callId())
                            .output(take(call.arguments(), steps))
                            .build()));
                }
                item.message().ifPresent(message -> message.content().forEach(part ->
                    part.outputText().ifPresent(text -> answer.append(text.text()))));
            }
            if (results.isEmpty()) return new End(answer.toString(), steps);
            request.inputOfResponse(results).previousResponseId(response.id());
        }
    }

    static Response respond(OpenAIClient client, ResponseCreateParams params, boolean streamed) {
        if (!streamed) return client.responses().create(params);
        var whole = ResponseAccumulator.create();
        try (var stream = client.responses().createStreaming(params)) {
            stream.stream().forEach(whole::accumulate);
        }
        return whole.response();
    }

    static boolean isUnknown(boolean streamed) {
        var request = ChatCompletionCreateParams.builder().model("no-such-model").addUserMessage("Hi").build();
        try {
            complete(client("DEMO_URL"), request, streamed);
            return false;
        } catch (OpenAIServiceException error) {
            return error.statusCode() == 400 && error.code().orElse("").equals("model_not_found");
        }
    }
}
