import com.fasterxml.jackson.databind.JsonNode;
import com.openai.core.ObjectMappers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeSet;

/**
 * Checks each reply and event in a file of JSON lines with the `validate` of openai-java. Prints each problem once, and how
 * many values it has checked.
 */
public class PublishedTypes {
    static final String MODELS = "com.openai.models.";
    static final Map<String, String> TYPES = Map.of(
        "Chat.ChatCompletion", "chat.completions.ChatCompletion",
        "Chat.ChatCompletionChunk", "chat.completions.ChatCompletionChunk",
        "Responses.Response", "responses.Response",
        "Responses.ResponseStreamEvent", "responses.ResponseStreamEvent",
        "Responses.ResponseItemList", "responses.inputitems.ResponseItemList",
        "Responses.InputTokenCountResponse", "responses.inputtokens.InputTokenCountResponse",
        "Responses.CompactedResponse", "responses.CompactedResponse",
        "Conversations.Conversation", "conversations.Conversation",
        "Conversations.ConversationItemList", "conversations.items.ConversationItemList",
        "OpenAIError", "ErrorObject");

    public static void main(String[] args) throws Exception {
        var mapper = ObjectMappers.jsonMapper();
        var problems = new TreeSet<String>();
        int checked = 0;
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            JsonNode answer = mapper.readTree(line);
            String name = answer.get("type").asText();
            String type = TYPES.get(name);
            if (type == null) continue;
            JsonNode value = answer.get("value");
            if (name.equals("OpenAIError")) value = value.get("error");
            checked++;
            try {
                Class<?> model = Class.forName(MODELS + type);
                model.getMethod("validate").invoke(mapper.treeToValue(value, model));
            } catch (ReflectiveOperationException error) {
                String kind = value.path("type").asText();
                problems.add(name + " " + kind + ": " + error.getCause().getMessage());
            }
        }
        problems.forEach(System.out::println);
        System.out.println(checked + " values");
    }
}
