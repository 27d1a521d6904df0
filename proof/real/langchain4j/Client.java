import dev.langchain4j.agent.tool.P;
import dev.langchain4j.agent.tool.Tool;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.internal.Json;
import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesChatModel;
import dev.langchain4j.model.openai.OpenAiResponsesStreamingChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import dev.langchain4j.service.AiServices;
import dev.langchain4j.service.TokenStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * LangChain4j: a loop of three calls over Chat Completions and Responses, plain and streamed, with its thoughts sent
 * back and without; an object by a JSON schema; errors.
 */
public class Client {
    static final String MODEL = "openai/gpt-oss-20b";
    static final String AGENT = System.getenv("AGENT_URL");
    static final String DEMO = System.getenv("DEMO_URL");
    static final String TASK = System.getenv("TASK");

    interface Assistant {
        String chat(String message);
    }

    interface Streaming {
        TokenStream chat(String message);
    }

    interface Geographer {
        Place find(String question);
    }

    record Place(String city, int inhabitants) {}

    record End(String answer, List<Integer> steps) {}

    static class Steps {
        final List<Integer> taken = new ArrayList<>();

        @Tool("Takes step n.")
        String step(@P(name = "n", value = "the number of the step") int n) {
            taken.add(n);
            return "step " + n + " is done";
        }
    }

    public static void main(String[] args) throws Exception {
        End end = loop(chat(AGENT, MODEL, false));
        var thoughts = new StringBuilder();
        var checks = new LinkedHashMap<String, Boolean>();
        checks.put("a loop that sends its thoughts back ends the same", loop(chat(AGENT, MODEL, true)).equals(end));
        checks.put("a streamed loop ends the same", loop(streaming(AGENT, MODEL, false), null).equals(end));
        checks.put("a streamed loop that sends its thoughts back ends the same", loop(streaming(AGENT, MODEL, true), thoughts).equals(end));
        checks.put("the thoughts are read", thoughts.length() > 0);
        checks.put("a loop over responses ends the same", loop(responses()).equals(end));
        checks.put("a loop over streamed responses ends the same", loop(streamingResponses(), null).equals(end));
        checks.put("an object by a JSON schema", isPlace());
        checks.put("an unknown model is an error", isUnknown(false));
        checks.put("an unknown model is an error of a stream, too", isUnknown(true));
        System.out.println(Json.toJson(Map.of("answer", end.answer, "steps", end.steps, "checks", checks)).replace("\n", ""));
        // The client's threads would wait for further requests.
        System.exit(0);
    }

    /** By default it reads no reasoning and sends none. */
    static ChatModel chat(String url, String model, boolean thinking) {
        return OpenAiChatModel.builder()
            .baseUrl(url)
            .apiKey("none")
            .modelName(model)
            .returnThinking(thinking)
            .sendThinking(thinking)
            .strictJsonSchema(true)
            .supportedCapabilities(Capability.RESPONSE_FORMAT_JSON_SCHEMA)
            .maxRetries(0)
            .build();
    }

    static StreamingChatModel streaming(String url, String model, boolean thinking) {
        return OpenAiStreamingChatModel.builder()
            .baseUrl(url)
            .apiKey("none")
            .modelName(model)
            .returnThinking(thinking)
            .sendThinking(thinking)
            .build();
    }

    static ChatModel responses() {
        return OpenAiResponsesChatModel.builder().baseUrl(AGENT).apiKey("none").modelName(MODEL).build();
    }

    static StreamingChatModel streamingResponses() {
        return OpenAiResponsesStreamingChatModel.builder().baseUrl(AGENT).apiKey("none").modelName(MODEL).build();
    }

    static End loop(ChatModel model) {
        var steps = new Steps();
        var assistant = AiServices.builder(Assistant.class).chatModel(model).tools(steps).build();
        return new End(assistant.chat(TASK), steps.taken);
    }

    /** `thoughts` receives its thoughts, unless it is null. */
    static End loop(StreamingChatModel model, StringBuilder thoughts) throws Exception {
        var steps = new Steps();
        var assistant = AiServices.builder(Streaming.class).streamingChatModel(model).tools(steps).build();
        return new End(collect(assistant.chat(TASK), thoughts), steps.taken);
    }

    /** The answer, as it was streamed. */
    static String collect(TokenStream stream, StringBuilder thoughts) throws Exception {
        var answer = new StringBuilder();
        var end = new CompletableFuture<Void>();
        stream
            .onPartialResponse(answer::append)
            .onPartialThinking(thought -> {
                if (thoughts != null) thoughts.append(thought.text());
            })
            .onCompleteResponse(response -> end.complete(null))
            .onError(end::completeExceptionally)
            .start();
        end.get();
        return answer.toString();
    }

    static boolean isPlace() {
        var geographer = AiServices.create(Geographer.class, chat(DEMO, MODEL, false));
        Place place = geographer.find("Which city is the capital of Portugal?");
        return place != null && place.city != null;
    }

    static boolean isUnknown(boolean streamed) throws Exception {
        try {
            if (streamed) {
                var model = streaming(DEMO, "no-such-model", false);
                collect(AiServices.create(Streaming.class, model).chat("Hi"), null);
            } else chat(DEMO, "no-such-model", false).chat("Hi");
            return false;
        } catch (Exception error) {
            Throwable cause = streamed ? error.getCause() : error;
            return cause instanceof InvalidRequestException && cause.getMessage().contains("no-such-model");
        }
    }
}
