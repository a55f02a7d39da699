import type { ForwardedCall } from '../../calls/pipeline-context.ts';
import type { ResponseContent } from '../../codec/messages/call.ts';
import { decodeSessionAnswer, encodeSessionCall } from '../../codec/messages/session-call.ts';
import { AtmoError } from '../../core/errors.ts';
import type { HubId } from '../../core/ids.ts';
import { needsSignature } from '../../tools/definition/tool-permissions.ts';
import type { PeerLink, PeerLinks, RequestOptions } from './peer-link.ts';
import type { ClientContext } from './remote-queries.ts';

const MAX_SIGNED_TOOLS = 1_024;

/** A request for a call, as this hub sent it. */
export interface Sent {
  readonly id: string;
  readonly epoch: number;
  readonly token: string;
  readonly mode: ForwardedCall['mode'];
}

/**
 * Sends calls to direct neighbours without a signature. Their session proves both hubs: the handshake proves the keys, and the encryption
 * keeps every byte. Calls that need a signature, go over another hub, or go to a hub that does not read `wire:session`, are signed.
 */
export class SessionCalls {
  readonly #links: PeerLinks;
  readonly #context: ClientContext;
  /** Tools, by hub, for which the hub has demanded a signature, for example because of one of its rules. The oldest is the first. */
  readonly #signed = new Set<string>();

  constructor({ links }: { readonly links: PeerLinks }, context: ClientContext) {
    this.#links = links;
    this.#context = context;
  }

  /** Returns the link over which the call can go without a signature; undefined if it has to be signed. */
  linkFor(target: HubId, { tool, mode }: ForwardedCall): PeerLink | undefined {
    const { routes, members } = this.#context;
    const link = this.#links.to(target);
    if (!link || !routes.reads(target, 'wire:session') || members.keyOf(target)?.key !== link.peer.publicKey) return undefined;
    return mode === 'waiting_job' || needsSignature(tool) || this.#signed.has(keyOf(target, tool.id)) ? undefined : link;
  }

  /** Sends the call. Resolves with the encoded answer, and rejects like `PeerLink.request`. */
  send(link: PeerLink, call: ForwardedCall, { id, epoch, token, mode }: Sent, options: RequestOptions): Promise<Uint8Array> {
    const { tool, params, principal, traceId, versionRange, sessionId, idempotencyKey, untilMs } = call;
    const head = {
      id,
      executorEpoch: epoch,
      token,
      tool: tool.id,
      ...(versionRange !== undefined && { version: versionRange }),
      params,
      agentId: principal.id,
      ...(sessionId !== undefined && { sessionId }),
      traceId,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      mode: mode === 'sync' ? ('sync' as const) : ('job' as const),
    };
    const parameters = this.#context.routes.reads(link.peer.id, 'wire:bytes') ? tool.definition.parameters : {};
    const bodyOf = (times: { readonly remainingMs: number; readonly deadlineMs?: number }) =>
      encodeSessionCall({ ...head, ...times }, parameters);
    return this.#context.requests.sendTo(link, { kind: 'session_call', untilMs, bodyOf }, options);
  }

  /** Opens an answer. Returns undefined and counts a drop if it is malformed. */
  open(bytes: Uint8Array): ResponseContent | undefined {
    try {
      return decodeSessionAnswer(bytes);
    } catch (error) {
      if (!(error instanceof AtmoError)) throw error;
      this.#context.drops.count('call.forged_answer');
      return undefined;
    }
  }

  /** Returns whether the hub refused the call only because it came without a signature. From then on, calls of this tool are signed. */
  mustSign({ code, details }: AtmoError, target: HubId, { tool }: ForwardedCall): boolean {
    // The hub has started again with an older version, which does not know calls without a signature.
    if (code === 'NOT_SUPPORTED') return true;
    if (code !== 'PERMISSION_DENIED' || details.signature !== 'required') return false;
    this.#signed.add(keyOf(target, tool.id));
    const [oldest] = this.#signed;
    if (this.#signed.size > MAX_SIGNED_TOOLS && oldest !== undefined) this.#signed.delete(oldest);
    return true;
  }
}

function keyOf(target: HubId, toolId: string): string {
  return `${target} ${toolId}`;
}
