import { AtmoError, type ErrorBody } from '../../core/errors.ts';
import { visibleJson, visibleText } from '../../core/foreign-text.ts';
import type { HubId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { openToolResponse, type ToolResponse } from '../../wire/messages/call-response.ts';
import type { DropSink } from '../link/drop-sink.ts';
import type { MemberKeys } from './call-ports.ts';

const MAX_MESSAGE_LENGTH = 2_048;
const MAX_DETAILS_LENGTH = 65_536;

/** What an answer has to be about. */
export interface ExpectedAnswer {
  readonly executor: HubId;
  /** Ids of requests that it may answer. */
  readonly requestIds: readonly string[];
}

/** Opens answers of other hubs: only what the executing hub itself has signed is believed. */
export class SignedAnswers {
  readonly #members: MemberKeys;
  readonly #drops: DropSink;

  constructor({ members, drops }: { readonly members: MemberKeys; readonly drops: DropSink }) {
    this.#members = members;
    this.#drops = drops;
  }

  /** Undefined for an answer that the executing hub did not sign for this request; it is counted. */
  open(bytes: Uint8Array, { executor, requestIds }: ExpectedAnswer): ToolResponse | undefined {
    try {
      return openToolResponse(bytes, ({ requestId, execution }) => {
        if (execution.nodeId === executor && requestIds.includes(requestId)) return this.#members.keyOf(executor)?.publicKey;
        throw new AtmoError('VALIDATION_ERROR', `The answer is not one of ${executor} to this request`);
      });
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#drops.count('call.forged_answer');
      return undefined;
    }
  }
}

/** The error that `executor` answered: its text is shown to people and models, and it speaks for no hub but itself. */
export function errorOfBody({ code, message, details }: ErrorBody, executor: HubId): AtmoError {
  const told = JSON.stringify(details).length > MAX_DETAILS_LENGTH ? {} : (visibleJson(details) as JsonObject);
  return new AtmoError(code, visibleText(message, MAX_MESSAGE_LENGTH), { ...told, ...('node_id' in told && { node_id: executor }) });
}
