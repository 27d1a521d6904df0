/** The links of the bar at the top of each page. */

export type Place = "Chat" | "Inspector" | "API";

export interface PlaceLink {
  readonly name: Place;
  readonly href: string;
}

export interface PlacesOptions {
  /** The chat is at `/`, and can open a request. */
  readonly hasChat: boolean;
  readonly hasInspector: boolean;
}

/** Relative links: a proxy may put the gateway below a path. */
export function placesOf({ hasChat, hasInspector }: PlacesOptions): readonly PlaceLink[] {
  return [
    ...(hasChat ? [{ name: "Chat", href: "./" } as const] : []),
    ...(hasInspector ? [{ name: "Inspector", href: "inspect" } as const] : []),
    { name: "API", href: "api" },
  ];
}
