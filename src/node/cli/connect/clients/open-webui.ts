/** Open WebUI: it reads the list of models itself. */
import { type ConnectedClient, NO_KEY } from "../client-settings.ts";

export const openWebUi: ConnectedClient = {
  title: "Open WebUI",
  settings: ({ origin, key = NO_KEY }) => ({
    variables: {
      OPENAI_API_BASE_URL: `${origin}/v1`,
      OPENAI_API_KEY: key,
      ENABLE_OLLAMA_API: "false",
    },
  }),
};
