import { PROTOCOL_FEATURES } from '../../src/codec/messages/announced-state.ts';
import { MeshDirectory } from '../../src/mesh/gossip/mesh-directory.ts';
import { currentProcess } from './simulated-process.ts';

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
