/** A WebSocket as the session uses it; each runtime has its own. */
export interface SocketPort {
  /** Sends a text message. Resolves when there is room for the next one, or the client has disconnected. */
  send(message: string): Promise<void>;
  /** Pauses or resumes reading, so that TCP makes the client wait. No effect where the runtime cannot do it. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
}
