import type { Frame } from '../../codec/messages/connection.ts';
import { AtmoError, isErrorCode } from '../../core/errors.ts';
import { isJsonObject, type Json } from '../../core/json.ts';
import { visibleJson, visibleText } from '../../core/untrusted-text.ts';

const MAX_MESSAGE_LENGTH = 2_048;
const MAX_DETAILS_LENGTH = 16_384;

type ErrorFrame = Extract<Frame, { readonly type: 'error' }>;

/** Returns the frame of an error, without details that are too long for it. */
export function errorFrame(id: number, { code, message, details }: AtmoError): ErrorFrame {
  const text = JSON.stringify(details);
  return {
    type: 'error',
    id,
    code,
    message: message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    details: text.length <= MAX_DETAILS_LENGTH && text.isWellFormed() ? text : '{}',
  };
}

/** Returns the error of a peer; an unknown code becomes INTERNAL_ERROR. */
export function errorOfFrame({ code, message, details }: ErrorFrame): AtmoError {
  const known = isErrorCode(code) ? code : 'INTERNAL_ERROR';
  return new AtmoError(known, visibleText(message, MAX_MESSAGE_LENGTH), parseDetails(details));
}

function parseDetails(text: string) {
  try {
    const value = visibleJson(JSON.parse(text) as Json);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
