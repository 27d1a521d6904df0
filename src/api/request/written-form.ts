/** How the header of an earlier call is written again: in the form in which the model wrote it, where its id names one. */
import type { CallForm } from "../../harmony/call-form.ts";
import type { Message } from "../../harmony/conversation.ts";

/**
 * A call of a function that the model wrote on `analysis` is written there only while its loop runs: with the analysis of an
 * answered turn it would be dropped, and the client's results with it.
 */
export function inForm(message: Message, form: CallForm | undefined, isRunning: boolean): Message {
  const { channel, contentType: _type, order: _order, isJoined: _isJoined, ...rest } = message;
  if (form === undefined) return message;
  const isMoved = form.header.channel === "analysis" && channel !== "analysis";
  return isMoved && !isRunning ? message : { ...rest, ...form.header };
}

/** A call of a tool that the model knows as a trained one. */
interface TrainedCall {
  /** The client's call. */
  readonly sent: Message;
  /** The same, converted. */
  readonly trained: Message;
  /** The call that the model wrote, if that became the client's. */
  readonly written: Message | undefined;
}

export function inOwnForm(
  { sent, trained, written }: TrainedCall,
  form: CallForm | undefined,
  isRunning: boolean,
): Message {
  if (written?.recipient === undefined) return inTrainedForm(trained, form, isRunning);
  const { recipient, content } = written;
  // The model may have called the client's tool by its own name.
  return recipient === sent.recipient
    ? inForm(sent, form, isRunning)
    : inTrainedForm({ ...trained, recipient, content }, form, isRunning);
}

/**
 * A call of a trained tool, on `analysis` while its loop runs. Once that has an answer, call and result are written on
 * `commentary`, as those of functions are: only thoughts are dropped, and the model still knows what it has read.
 */
function inTrainedForm(message: Message, form: CallForm | undefined, isRunning: boolean): Message {
  const { order } = form?.header ?? {};
  const written =
    isRunning && form !== undefined ? form.header : { channel: "analysis", contentType: "code" };
  const { contentType: _type, ...rest } = message;
  return {
    ...rest,
    ...(order && { order }),
    ...written,
    ...(!isRunning && { channel: "commentary" }),
  };
}
