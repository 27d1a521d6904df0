/*
 * Stands between llama-server and libllama (LD_PRELOAD) and makes the model say what a script says. The server and its
 * sampler stay llama.cpp's own. README.md describes the script and its rules; `scripted_tokens.py` does the same for
 * vLLM. For a server with one slot.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

enum { RETURN = 200002, START = 200006, ASSISTANT = 173781, MESSAGE = 200008, ANALYSIS = 35644, MOST = 1 << 16 };
static const float FORCED = 1e4f;

struct tokens {
  int count;
  llama_token ids[MOST];
};

static struct tokens context;    /* what the model has read and said */
static struct tokens turn;       /* the prompt up to where the model's turn begins */
static struct tokens completion; /* of this turn */
static char number[32];          /* of the script */
static int calls;
static llama_token wanted; /* the token that was forced, or -1 */
static bool is_scripted;
static bool is_request; /* a prompt has come since the last token */
static bool is_sampled; /* the next token has been asked for */

static FILE *open_state(const char *name, const char *mode) {
  char path[4096];
  const char *folder = getenv("SCORECARD_STATE");
  snprintf(path, sizeof path, "%s/%s", folder ? folder : ".", name);
  return fopen(path, mode);
}

/* The sampler took another token: a grammar forbids this one. */
static void record_refusal(void) {
  FILE *file = open_state("refused.txt", "w");
  if (!file) return;
  fputs(number, file);
  fclose(file);
}

static void record_prompt(void) {
  FILE *file = open_state("prompts.txt", "a");
  if (!file) return;
  fputs(number, file);
  for (int i = 0; i < context.count; i++) fprintf(file, " %d", context.ids[i]);
  fputc('\n', file);
  fclose(file);
}

static int count(const llama_token *ids, int n, llama_token id) {
  int found = 0;
  for (int i = 0; i < n; i++) found += ids[i] == id;
  return found;
}

/* Whether the context is that of the last request with more of the answer. */
static bool is_known(void) {
  int begun = context.count - turn.count;
  const llama_token *said = context.ids + turn.count;
  if (begun < 0 || memcmp(context.ids, turn.ids, turn.count * sizeof *turn.ids)) return false;
  if (begun > completion.count && !memcmp(said, completion.ids, completion.count * sizeof *said)) return false;
  if (begun < 2 || said[begun - 2] != START || said[begun - 1] != ASSISTANT) return true;
  return begun <= completion.count && !memcmp(said, completion.ids, begun * sizeof *said);
}

/* What the completion says next; -1 in a header that is not the completion's own. After its last message, the end. */
static llama_token next_token(void) {
  if (!completion.count) return RETURN;
  int begun = context.count - turn.count;
  int at = begun;
  const llama_token *said = context.ids + turn.count;
  if (begun > completion.count || memcmp(said, completion.ids, begun * sizeof *said)) {
    int messages = count(said, begun, MESSAGE);
    /* The gateway has opened the message that it demands. */
    if (messages == 1 && !count(said, begun, ANALYSIS)) messages = count(completion.ids, completion.count, MESSAGE);
    int body = 0;
    while (body < begun && said[begun - 1 - body] != MESSAGE) body++;
    for (at = 0; messages > 0 && at < completion.count; at++) messages -= completion.ids[at] == MESSAGE;
    if (messages > 0) return RETURN;
    if (body == begun || at + body > completion.count) return -1;
    if (memcmp(said + begun - body, completion.ids + at, body * sizeof *said)) return -1;
    at += body;
  }
  return at < completion.count ? completion.ids[at] : RETURN;
}

static void find_turn(void) {
  turn = context;
  for (int end = context.count; end > 1; end--)
    if (context.ids[end - 2] == START && context.ids[end - 1] == ASSISTANT) {
      turn.count = end;
      return;
    }
}

static void read_completion(FILE *file, int line) {
  completion.count = 0;
  for (int letter; line > 0 && (letter = fgetc(file)) != EOF;) line -= letter == '\n';
  char separator = ' ';
  while (line == 0 && separator == ' ' && completion.count < MOST &&
         fscanf(file, "%d%c", &completion.ids[completion.count], &separator) >= 1) {
    completion.count++;
    if (feof(file)) break;
  }
}

static void begin_request(void) {
  char found[32];
  FILE *file = open_state("script.txt", "r");
  is_scripted = file && fscanf(file, "%31[^\n]", found) == 1;
  if (is_scripted) {
    bool is_new = strcmp(found, number);
    if (is_new) {
      strcpy(number, found);
      calls = 0;
    }
    record_prompt();
    if (is_new || !is_known()) {
      fgetc(file);
      read_completion(file, calls++);
      find_turn();
    }
  }
  if (file) fclose(file);
}

int32_t llama_decode(struct llama_context *ctx, struct llama_batch batch) {
  int32_t (*decode)(struct llama_context *, struct llama_batch) = dlsym(RTLD_NEXT, "llama_decode");
  bool continues = batch.n_tokens == 1 && batch.pos && batch.pos[0] == context.count && is_sampled;
  if (!continues) is_request = true;
  else if (is_scripted && wanted >= 0 && batch.token[0] != wanted) record_refusal();
  is_sampled = false;
  for (int i = 0; batch.token && batch.pos && i < batch.n_tokens; i++) {
    if (batch.pos[i] >= MOST) continue;
    context.ids[batch.pos[i]] = batch.token[i];
    context.count = batch.pos[i] + 1;
  }
  return decode(ctx, batch);
}

float *llama_get_logits_ith(struct llama_context *ctx, int32_t i) {
  float *(*get)(struct llama_context *, int32_t) = dlsym(RTLD_NEXT, "llama_get_logits_ith");
  float *logits = get(ctx, i);
  if (is_request) {
    is_request = false;
    begin_request();
  }
  is_sampled = true;
  wanted = is_scripted ? next_token() : -1;
  if (logits && wanted >= 0) logits[wanted] = FORCED;
  return logits;
}
