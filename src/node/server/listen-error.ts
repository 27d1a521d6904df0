/** Explains why a port is not available, with a remedy. */

export interface ListenTarget {
  readonly host: string;
  readonly port: number;
  /** The flag that chooses the port. */
  readonly flag: string;
  /** Other processes may listen on the port too. */
  readonly reusePort: boolean;
}

/** The port is not available. The message contains the remedy. */
export class ListenError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "ListenError";
  }
}

/** A {@link ListenError} for the failures that an operator can act on, otherwise the error itself. */
export function explainListenError(error: Error, target: ListenTarget): Error {
  const message = toMessage("code" in error ? error.code : undefined, target);
  return message === undefined ? error : new ListenError(message, error);
}

function toMessage(code: unknown, { host, port, flag, reusePort }: ListenTarget) {
  const where = `port ${port} of ${host}`;
  switch (code) {
    case "EADDRINUSE":
      return reusePort
        ? `${where} is in use by a program that does not share it. Start each process with --reuse-port, as the same user, or choose another port with ${flag}.`
        : `${where} is in use by another program. Choose another port with ${flag}.`;
    case "EACCES":
      return `The gateway has no permission to listen on ${where}. Choose another port with ${flag}.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `${host} is not an address of this machine. Choose another with --host.`;
    // libuv returns an error where the system does not distribute connections, for instance on macOS.
    case "ENOTSUP":
    case "EINVAL":
      return reusePort
        ? `This system cannot share ${where} between processes; Linux can. Start without --reuse-port, with a port for each process and a balancer in front.`
        : undefined;
    default:
      return undefined;
  }
}
