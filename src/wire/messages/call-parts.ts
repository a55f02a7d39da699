import { jsonPieces } from '../json-pieces.ts';
import { message, optional, required } from '../message.ts';
import { base64url, hubId } from '../message-encodings.ts';
import { list } from '../message-lists.ts';
import { bytes, text, uint } from '../message-scalars.ts';
import type { ValueOf } from '../message-type.ts';

/** Longest token, bytes. */
const MAX_TOKEN_BYTES = 2_048;

/** Longest JSON text of the parameters of a call that goes to another hub. */
export const MAX_FORWARDED_PARAMS = 1_048_576;

/** An id that hubs make up for requests, responses, sessions and traces. */
export const CALL_ID = text({ max: 128 });
/** The text of a token; its bytes travel. */
const TOKEN = base64url({ min: 1, max: MAX_TOKEN_BYTES, prefix: 'at1.' });

/** What every request to another hub says under the signature of the hub that its caller asked; keys 1 to 6. */
export const REQUEST_HEAD = {
  id: required(1, CALL_ID),
  /** The hub whose key signs. */
  entryHub: required(2, hubId),
  executingHub: required(3, hubId),
  /** Epoch of the executing hub as its announcements say: a request counts in one epoch only. */
  executorEpoch: required(4, uint()),
  /** By the clock of the entry hub, milliseconds since 1970. */
  timeMs: required(5, uint()),
  /** `at1.` text. */
  token: required(6, TOKEN),
};

const FORWARDED = message({
  /** The request, COSE_Sign1 by the entry hub; no hub on the way changes it. */
  signed: required(1, bytes({ min: 1, max: 65_536 })),
  /** RFC 8785 text of a call's parameters; the signed part has its hash. */
  params: optional(2, jsonPieces({ max: MAX_FORWARDED_PARAMS, arrives: 'in pieces' })),
  /** Milliseconds that are left; each hub takes off what it needed. */
  remainingMs: required(3, uint({ max: 0xffff_ffff })),
  /** Hops beyond the next one; 0 = the receiver runs it itself. */
  hopsLeft: required(4, uint({ max: 255 })),
  /** Hubs that it went through, the entry hub first. */
  visited: required(5, list(hubId, { min: 1, max: 32 })),
});

/** A request on its way, with what the hubs on the way change. */
export type ForwardedRequest = ValueOf<typeof FORWARDED>;
export { FORWARDED };
