import { BrokenInvariant } from '../broken-invariant.ts';
import type { SimulatedMachine } from '../simulated-machine.ts';

/** Checks that each hub knows all others with all of their tools. Throws BrokenInvariant. */
export async function checkMesh(machines: readonly SimulatedMachine[]): Promise<void> {
  for (const machine of machines) {
    const peers: readonly Peer[] = machines.length > 1 ? await machine.asOwner('mesh_peers') : [];
    for (const other of machines) if (other !== machine) requireKnown(machine, other, peers);
  }
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
