/** Sample messages for an empty chat. */
import type { IconName } from "../shared/icons.ts";

export interface Sample {
  readonly icon: IconName;
  readonly title: string;
  readonly about: string;
  readonly text: string;
}

export const SAMPLES: readonly Sample[] = [
  {
    icon: "chat",
    title: "A question",
    about: "Why is the sky blue?",
    text: "Why is the sky blue, but a sunset red?",
  },
  {
    icon: "edit",
    title: "A letter",
    about: "Move a meeting, politely",
    text: "Write a short, friendly email that moves Tuesday's meeting to Thursday.",
  },
  {
    icon: "check",
    title: "A plan",
    about: "Dinners for three days",
    text: "Plan three simple dinners for two people, one of them without meat.",
  },
];
