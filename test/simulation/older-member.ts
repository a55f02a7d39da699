import { decodeCbor } from '../../src/codec/cbor.ts';
import { unverifiedPayload } from '../../src/codec/cose-sign1.ts';
import { PROTOCOL_FEATURES } from '../../src/codec/messages/announced-state.ts';
import { forwardedRequestCodec } from '../../src/codec/messages/call.ts';
import { frameCodec } from '../../src/codec/messages/connection.ts';
import { MeshDirectory } from '../../src/mesh/gossip/mesh-directory.ts';
import { REQUEST_KINDS } from '../../src/mesh/rpc/peer-link.ts';
import { BrokenInvariant } from './broken-invariant.ts';
import { currentProcess } from './simulated-process.ts';

/** Number of the mode of a signed call, and of the mode that came later (src/codec/messages/call.ts). */
const MODE = 14;
const WAITING_JOB = 3;

let isInstalled = false;

/**
 * Lets a process that is an older member speak as hubs did before the optional features of the protocol: it announces none, and uses none towards
 * others.
 */
export function installOlderMembers(): void {
  if (isInstalled) return;
  isInstalled = true;
  const all: readonly string[] = [...PROTOCOL_FEATURES];
  Object.defineProperty(PROTOCOL_FEATURES, Symbol.iterator, {
    value: () => (currentProcess()?.isOlder ? [] : all)[Symbol.iterator](),
  });
  const find = MeshDirectory.prototype.hub;
  MeshDirectory.prototype.hub = function hub(this: MeshDirectory, id) {
    const found = find.call(this, id);
    if (!found || !currentProcess()?.isOlder) return found;
    return { ...found, features: found.features.filter((name) => !all.includes(name)) };
  };
}

/** Checks that an older member can read a message that is sent to it. Throws BrokenInvariant. */
export function checkReadable(to: string, bytes: Uint8Array): void {
  const unknown = newPartsOf(bytes);
  if (unknown === undefined) return;
  throw new BrokenInvariant('an older member can read what it is sent', `${to} is sent ${unknown}`, [to]);
}

/** What a frame has that no older member knows; undefined if it has nothing of this kind. A liar sends frames that nobody can read. */
function newPartsOf(bytes: Uint8Array): string | undefined {
  try {
    const frame = frameCodec.decode(bytes);
    if (frame.type !== 'request' || frame.kind !== REQUEST_KINDS.invoke) return undefined;
    const { signed, params, deadlineMs } = forwardedRequestCodec.decode(frame.body);
    if (deadlineMs !== undefined) return 'a deadline by its clock';
    if (params !== undefined && typeof params !== 'string') return 'parameters with bytes';
    const statement = decodeCbor(unverifiedPayload(signed));
    return statement instanceof Map && statement.get(MODE) === WAITING_JOB ? 'a job that waits' : undefined;
  } catch {
    return undefined;
  }
}
