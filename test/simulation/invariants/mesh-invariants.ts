import { decodeCbor } from '../../../src/codec/cbor.ts';
import { unverifiedPayload } from '../../../src/codec/cose-sign1.ts';
import { forwardedRequestCodec } from '../../../src/codec/messages/call.ts';
import { frameCodec } from '../../../src/codec/messages/connection.ts';
import { REQUEST_KINDS } from '../../../src/mesh/rpc/peer-link.ts';
import { BrokenInvariant } from '../broken-invariant.ts';
import { DEVICE_KINDS, deviceTool } from '../device-kinds.ts';
import type { SimulatedMachine } from '../simulated-machine.ts';

/**
 * Checks that each hub knows all others with all of their tools. A damaged file may cost a hub that it is in a mesh, if it has joined after the
 * newest copy. Throws BrokenInvariant.
 */
export async function checkMesh(all: readonly SimulatedMachine[]): Promise<void> {
  const machines = all.filter(({ lostStateMs }) => lostStateMs === Number.NEGATIVE_INFINITY);
  for (const machine of machines) {
    const peers: readonly Peer[] = machines.length > 1 ? await machine.asOwner('mesh_peers') : [];
    for (const other of machines) if (other !== machine) requireKnown(machine, other, peers);
    await checkCatalogue(machine, machines);
  }
}

/** Checks that a hub lists the tools of all machines' devices, and no name twice. */
async function checkCatalogue(machine: SimulatedMachine, machines: readonly SimulatedMachine[]): Promise<void> {
  const names = await toolNamesOf(machine);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new BrokenInvariant('no two tools have one name', `${machine.name} has two of ${twice}`, [machine.name]);
  for (const other of machines) {
    const missing = DEVICE_KINDS.map((kind) => deviceTool(kind, other.name)).find((name) => !names.includes(name));
    if (missing === undefined) continue;
    throw new BrokenInvariant('the catalogues agree after all is well', `${machine.name} does not list ${missing}`, [
      machine.name,
      missing,
    ]);
  }
}

/** The names of all tools that a hub lists to its owner, without their versions. */
async function toolNamesOf(machine: SimulatedMachine): Promise<readonly string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
    const { body } = await machine.ask({ path: `/api/v1/tools?cursor=${cursor}`, token: machine.ownerToken });
    names.push(...body.tools.map(({ id }: { readonly id: string }) => id.replace(/@.*/, '')));
    cursor = body.next_cursor;
  }
  return names;
}

interface Peer {
  readonly hub_id: string;
  readonly reachable: boolean;
  readonly missing_tools: number;
}

function requireKnown(machine: SimulatedMachine, other: SimulatedMachine, peers: readonly Peer[]): void {
  const peer = peers.find(({ hub_id: id }) => id === other.hubId);
  if (peer?.reachable && peer.missing_tools === 0) return;
  const problem = `${machine.name} knows ${other.name} as ${JSON.stringify(peer)}`;
  throw new BrokenInvariant('the directories agree after all is well', problem, [other.hubId, other.name]);
}

/** Number of the mode of a signed call, and of the mode that came later (src/codec/messages/call.ts). */
const MODE = 14;
const WAITING_JOB = 3;

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
    if (frame.type !== 'request') return undefined;
    if (frame.kind === REQUEST_KINDS.session_call) return 'a call without a signature';
    if (frame.kind !== REQUEST_KINDS.invoke) return undefined;
    const { signed, params, deadlineMs } = forwardedRequestCodec.decode(frame.body);
    if (deadlineMs !== undefined) return 'a deadline by its clock';
    if (params !== undefined && typeof params !== 'string') return 'parameters with bytes';
    const statement = decodeCbor(unverifiedPayload(signed));
    return statement instanceof Map && statement.get(MODE) === WAITING_JOB ? 'a job that waits' : undefined;
  } catch {
    return undefined;
  }
}
