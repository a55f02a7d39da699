import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { ApprovalStore } from '../../../src/auth/approvals/approval-store.ts';
import { ApproverRegistry } from '../../../src/auth/approvals/approver-registry.ts';
import { StandingAnswerStore } from '../../../src/auth/approvals/standing-answer-store.ts';
import { ApprovingPersons } from '../../../src/auth/people/household.ts';
import type { ApprovalStatement } from '../../../src/codec/approval-payload.ts';
import { signStatement } from '../../../src/codec/approval-statement.ts';
import { rawPublicKey } from '../../../src/codec/public-key.ts';
import type { ApprovalDecision, ApprovalRequest, ApprovalView, ApprovalWaits } from '../../../src/core/auth/approvals.ts';
import type { Principal } from '../../../src/core/auth/principal.ts';
import type { NamedDevice } from '../../../src/core/devices/action-descriptions.ts';
import { EventBus, type HubEvent } from '../../../src/core/events.ts';
import { silentLogger } from '../../../src/core/logger.ts';
import type { AuditNote } from '../../../src/core/storage/audit-sink.ts';
import type { KeyValueStore } from '../../../src/core/storage/key-value-store.ts';
import { ManualClock } from '../../manual-clock.ts';
import { MemoryKeyValueStore } from '../../memory-key-value-store.ts';

export const HUB = 'hub-0123456789abcdef';
export const AGENT: Principal = { id: 'kitchen', kind: 'agent', permissions: ['device:control:*'] };
export const OWNER: Principal = { id: 'owner', kind: 'owner', permissions: ['*', 'admin:*'] };
const UNLOCK = { permission: 'device:control:door', risk: 'dangerous', target: 'door/1/DoorLock/UnlockDoor' } as const;

const NAMES: Readonly<Record<string, NamedDevice>> = {
  door: { id: 'door', name: 'Front door', area: 'Hall' },
  lamp: { id: 'lamp', name: 'Floor lamp', area: 'Hall' },
};
const DEVICES = {
  namedDevice: (id: string) => NAMES[id],
  typesOf: (id: string): ReadonlySet<string> => new Set(id === 'door' ? ['door-lock', 'lock'] : []),
};
const MINUTES_MS = 600_000;
const WAITS: ApprovalWaits = { programs: MINUTES_MS, administration: MINUTES_MS, devices: MINUTES_MS, other: MINUTES_MS };

export function requestOf(extra: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    principal: AGENT,
    toolId: 'matter:door_unlock@1.0.0',
    title: 'Unlock the front door',
    params: { pin: '[secret]' },
    callHash: 'ab'.repeat(32),
    effects: [UNLOCK],
    plan: {
      tool: 'matter:door_unlock@1.0.0',
      title: 'Unlock',
      params: {},
      definition: 'cd'.repeat(32),
      arguments: 'ef'.repeat(32),
      targets: [],
    },
    personsNeeded: 1,
    traceId: 'trace-1',
    ...extra,
  };
}

/** A person with a private key. */
export function makePerson(name: string): { readonly name: string; readonly key: KeyObject; readonly raw: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { name, key: privateKey, raw: rawPublicKey(publicKey) };
}
export type Person = ReturnType<typeof makePerson>;

export function statementFor(view: ApprovalView, person: string, decision: ApprovalDecision = 'approve'): ApprovalStatement {
  const { approval_id, tool, call_hash, hub, expires_at } = view;
  return { approval_id, decision, tool, call_hash, hub, expires_at, person };
}

/** The queue and its persons over one store; `restart` is what a new process finds. */
export async function makeApprovals(
  clock = new ManualClock(),
  store: KeyValueStore = new MemoryKeyValueStore(clock),
  hubId = HUB,
  waits: ApprovalWaits = WAITS,
) {
  const notes: AuditNote[] = [];
  const heard: HubEvent[] = [];
  const events = new EventBus('hub:test', clock);
  events.listen((event) => heard.push(event));
  const audit = { record: async (entry: unknown) => void notes.push(entry as AuditNote) };
  const time = { now: () => clock.now() };
  const approvers = new ApproverRegistry({ store, time, audit, persons: new ApprovingPersons({ store, time }) });
  const parts = { store, devices: DEVICES, clock, time, approvers, audit, events, logger: silentLogger };
  const standing = new StandingAnswerStore(parts, { hubId });
  const queue = new ApprovalStore({ ...parts, standing, waits: { current: () => waits } }, { hubId });
  await queue.start();

  async function enrol(name: string): Promise<Person> {
    const person = makePerson(name);
    await approvers.enrol({ person: name, key: person.raw, label: 'phone' });
    return person;
  }

  const viewOf = (id: string): ApprovalView => {
    const found = queue.get(id);
    if (!found) throw new Error(`no request ${id}`);
    return found.view;
  };

  /** Files the request and answers what people see of it. */
  async function file(request: ApprovalRequest = requestOf()): Promise<ApprovalView> {
    return viewOf((await queue.check(request)).approvalId);
  }

  /** Signs and hands in; `change` is what a forger would alter before signing. */
  function say(view: ApprovalView, person: Person, decision: ApprovalDecision = 'approve', change: Partial<ApprovalStatement> = {}) {
    const signature = signStatement({ ...statementFor(view, person.name, decision), ...change }, person.key);
    return queue.decide({ approvalId: view.approval_id, decision, person: person.name, signature });
  }

  /** A request that a person of this name has approved. */
  async function approved(name = 'ann', request: ApprovalRequest = requestOf()) {
    const person = await enrol(name);
    const view = await file(request);
    await say(view, person);
    return { person, view };
  }

  const restart = () => makeApprovals(clock, store, hubId, waits);
  return { clock, store, events, queue, standing, approvers, notes, heard, enrol, viewOf, file, say, approved, restart };
}
