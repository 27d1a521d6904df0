/** Renders the header of an earlier call in the form in which the model wrote it, if the call's id names a form. */
import type { CallForm } from "../../harmony/call-form.ts";
import type { Message } from "../../harmony/conversation.ts";

/**
 * A function call that the model wrote on `analysis` stays there only while its loop runs: it would be dropped with the
 * analysis of an answered turn, together with the client's results.
 */
export function inForm(message: Message, form: CallForm | undefined, isRunning: boolean): Message {
  const { channel, contentType: _type, order: _order, isJoined: _isJoined, ...rest } = message;
  if (form === undefined) return message;
  const isMoved = form.header.channel === "analysis" && channel !== "analysis";
  return isMoved && !isRunning ? message : { ...rest, ...form.header };
}

/** A call of a tool that the model knows as a trained tool. */
interface TrainedCall {
  /** The client's call. */
  readonly sent: Message;
  /** The client's call, converted to the trained tool's form. */
  readonly trained: Message;
  /** The call that the model wrote, if it was converted to the client's call. */
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
 * A call of a trained tool, on `analysis` while its loop runs. Once the loop has an answer, call and result move to
 * `commentary`, like calls of functions: only reasoning is dropped, and the model still knows the results.
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
