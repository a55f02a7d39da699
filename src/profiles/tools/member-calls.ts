import type { Authorizer, Effect } from '../../core/auth/principal.ts';
import { orAborted } from '../../core/clock.ts';
import { ConcurrencyLimiter } from '../../core/concurrency-limiter.ts';
import type { DeviceAccess, DeviceDirectory } from '../../core/devices/device-directory.ts';
import { AtmoError, type ErrorCode, toAtmoError } from '../../core/errors.ts';
import type { DeviceId } from '../../core/ids.ts';
import type { JsonObject } from '../../core/json.ts';
import { INTEGER, resultSchema, TEXT } from '../../tools/definition/define-tool.ts';
import type { CallerRights, SkippedMember, ToolContext } from '../../tools/definition/tool-definition.ts';
import { callerView } from '../../tools/definition/tool-permissions.ts';
import type { AreaAliases } from '../../tools/names/resolve-names.ts';
import type { CompiledDevice, Delegation } from '../compile/compiled-device.ts';
import type { RecallContext, Recalled } from '../home/scene-store.ts';
import { CLASS_TOOL, type ClassToolPorts, runDelegations } from './class-tool.ts';
import { toolEffects } from './run-device-tool.ts';

/** Maximum number of members that are called at once. More would crowd a Thread network. */
const PARALLEL_MEMBERS = 16;
/** Time limit of one member. A dead device fails within 5 s; a slow one may need several interactions. */
const MEMBER_LIMIT_MS = 12_000;

/** The services of tools that call many devices at once. */
export interface MemberToolPorts extends ClassToolPorts {
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly areas: AreaAliases;
  readonly authorizer: Authorizer;
}

/** The common declaration of tools that call many devices at once. Each device needs its own permission. */
export const MEMBERS_TOOL = {
  ...CLASS_TOOL,
  permissions: ['device:control:{devices}'],
  capabilities: ['device_control'],
  timeoutMs: 60_000,
} as const;

/** The calls that a member gets, with their effects; or the reason why it gets none. */
export type MemberWork =
  | {
      readonly compiled: CompiledDevice;
      readonly delegations: readonly Delegation[];
      readonly effects: readonly Effect[];
      /** Brings the device to the same state by a scene that it keeps. */
      readonly recall?: (context: RecallContext) => Promise<Recalled>;
    }
  | { readonly skipped: string };

/** A device that a call with many devices names. */
export interface Member {
  readonly device: DeviceId;
  readonly name: string;
  readonly work: MemberWork;
}

/** The outcomes of a member. `not_settled`: it took the command and does not show the wanted state yet, or shows no state. */
export const OUTCOMES = ['settled', 'not_settled', 'failed', 'skipped'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** What became of a member. `reason` is absent only for `settled`. */
interface MemberResult {
  readonly device_id: string;
  readonly name: string;
  readonly outcome: Outcome;
  readonly reason?: string;
  readonly code?: ErrorCode;
  readonly state?: JsonObject;
}

const MEMBER = resultSchema(
  { device_id: TEXT, name: TEXT, outcome: { enum: OUTCOMES }, reason: TEXT, code: TEXT, state: { type: 'object' } },
  ['reason', 'code', 'state'],
);

/** The properties of a result with many members. */
export const MEMBERS_PROPERTIES = {
  success: { type: 'boolean', description: 'False if a member failed' },
  summary: { ...TEXT, description: 'One sentence about all members' },
  counts: resultSchema({ settled: INTEGER, not_settled: INTEGER, failed: INTEGER, skipped: INTEGER }),
  members: {
    type: 'array',
    items: MEMBER,
    description:
      'settled: shows the wanted state. not_settled: took the command and does not show it yet. failed, skipped: with the reason',
  },
} as const;

/** Returns the work of a member. A device that cannot do what is wanted is skipped, with the reason. */
export function memberWork(compiled: CompiledDevice, delegationsOf: () => readonly Delegation[] | string): MemberWork {
  try {
    const delegations = delegationsOf();
    if (typeof delegations === 'string') return { skipped: delegations };
    const effects = delegations.flatMap(({ tool, params }) => toolEffects(compiled, tool, params));
    return { compiled, delegations, effects };
  } catch (error) {
    const { code, message } = toAtmoError(error);
    if (code !== 'VALIDATION_ERROR' && code !== 'NOT_SUPPORTED') throw error;
    return { skipped: message };
  }
}

/** Returns the effects of all members that are not skipped. */
export function effectsOfMembers(members: readonly Member[]): readonly Effect[] {
  return members.flatMap(({ work }) => ('skipped' in work ? [] : work.effects));
}

/** A device as results name it. */
export interface MemberName {
  readonly id: string;
  readonly name: string;
}

/** What is called, and how the answer names it. */
interface MembersCall {
  readonly members: readonly Member[];
  /** Returns further devices that the caller sees. Those that the caller may not control stand in the answer as skipped. */
  readonly others: (caller: CallerRights) => readonly MemberName[];
  readonly subject: string;
}

/**
 * Calls the members at the same time and returns what became of each, in their order. No member makes the others fail, and a device that is
 * known not to answer is skipped, so that it costs no time. Rejects if no member took the command (`membersAnswer`).
 */
export async function callMembers(ports: MemberToolPorts, { members, others, subject }: MembersCall, context: ToolContext) {
  const limiter = new ConcurrencyLimiter({ maxRunning: PARALLEL_MEMBERS });
  const run = { access: ports.access, directory: ports.directory, context };
  const results = await Promise.all(members.map((member) => runMember(member, limiter, run)));
  const caller = callerView(context.principal, ports.authorizer);
  const left = others(caller).filter(({ id }) => !caller.may(`device:control:${id}`));
  return membersAnswer([...results, ...left.map(notPermitted)], subject);
}

/** Returns the devices that a call with these members would leave out, with the reasons. */
export function skippedMembers(
  { directory }: Pick<MemberToolPorts, 'directory'>,
  { members, others }: Pick<MembersCall, 'members' | 'others'>,
  caller: CallerRights,
): readonly SkippedMember[] {
  const left = others(caller).filter(({ id }) => !caller.may(`device:control:${id}`));
  const skipped = members.flatMap((member) => {
    if ('skipped' in member.work) return [resultOf(member, { outcome: 'skipped', reason: member.work.skipped })];
    return directory.get(member.device)?.reachability === 'unreachable' ? [resultOf(member, UNREACHABLE)] : [];
  });
  return [...skipped, ...left.map(notPermitted)].map(({ device_id, name, reason = '' }) => ({ device_id, name, reason }));
}

function notPermitted({ id, name }: MemberName): MemberResult {
  return { device_id: id, name, outcome: 'skipped', reason: 'You may not control it' };
}

interface MemberRun {
  readonly access: DeviceAccess;
  readonly directory: Pick<DeviceDirectory, 'get'>;
  readonly context: ToolContext;
}

async function runMember(member: Member, limiter: ConcurrencyLimiter, run: MemberRun): Promise<MemberResult> {
  const { device, work } = member;
  if ('skipped' in work) return resultOf(member, { outcome: 'skipped', reason: work.skipped });
  if (run.directory.get(device)?.reachability === 'unreachable') return resultOf(member, UNREACHABLE);
  try {
    const entered = limiter.enter(run.context.signal);
    const leave = entered instanceof Promise ? await confirmed(entered, run.context) : entered;
    try {
      return resultOf(member, await calledInTime(work, run));
    } finally {
      leave();
    }
  } catch (error) {
    const { code, message } = toAtmoError(error);
    return resultOf(member, { outcome: 'failed', reason: message, code });
  }
}

const UNREACHABLE = { outcome: 'skipped', reason: 'The device does not answer', code: 'DEVICE_UNREACHABLE' } as const;

/** Waits for a slot. Token, permissions and rules may have changed meanwhile, so they are checked again. */
async function confirmed(entered: Promise<() => void>, context: ToolContext): Promise<() => void> {
  const leave = await entered;
  try {
    context.confirm();
    return leave;
  } catch (error) {
    leave();
    throw error;
  }
}

type Done = Pick<MemberResult, 'outcome' | 'reason' | 'state'>;

type CalledWork = Exclude<MemberWork, { skipped: string }>;

async function calledInTime(work: CalledWork, { access, context }: MemberRun): Promise<Done> {
  context.signal.throwIfAborted();
  const { clock } = context;
  const limit = new AbortController();
  const stop = clock.after(MEMBER_LIMIT_MS, () => limit.abort(tooSlow()));
  const signal = AbortSignal.any([context.signal, limit.signal]);
  const done = async () => {
    // A recall may bring another state than the wanted one. So it is followed by the commands even if the caller has gone meanwhile.
    const recalled = await work.recall?.({ signal: limit.signal, clock, allows: (effects) => context.allows(effects) });
    if (recalled === 'shown') return { outcome: 'settled' } as const;
    return commanded(work, access, { signal: recalled === 'not_shown' ? limit.signal : signal, clock });
  };
  return orAborted(done().finally(stop), signal);
}

async function commanded(work: CalledWork, access: DeviceAccess, options: Pick<ToolContext, 'signal' | 'clock'>): Promise<Done> {
  const { state, settlement } = await runDelegations({ access }, work, options);
  if (settlement.settled === true) return { outcome: 'settled' };
  const reason = settlement.settled === null ? settlement.settled_reason : 'It took the command and does not show it yet';
  return { outcome: 'not_settled', reason, state };
}

function tooSlow(): AtmoError {
  return new AtmoError('TIMEOUT', `It did not answer within ${MEMBER_LIMIT_MS / 1000} s; it may have taken the command`);
}

function resultOf({ device, name }: Member, done: Omit<MemberResult, 'device_id' | 'name'>): MemberResult {
  return { device_id: device, name, ...done };
}

/**
 * Returns the result of a call with many members. Throws the error of the first member that failed, or DEVICE_UNREACHABLE, if no member took
 * the command: such a call has done nothing and must not look like a success.
 */
function membersAnswer(results: readonly MemberResult[], subject: string) {
  const counts = Object.fromEntries(
    OUTCOMES.map((outcome) => [outcome, results.filter((one) => one.outcome === outcome).length]),
  ) as Record<Outcome, number>;
  const summary = summaryOf(results, counts, subject);
  const members = results.map((one) => ({ ...one }));
  if (counts.settled + counts.not_settled > 0) return { success: counts.failed === 0, summary, counts, members };
  const { code = 'NOT_SUPPORTED' } = results.find(({ outcome }) => outcome === 'failed') ?? results.find((one) => one.code) ?? {};
  throw new AtmoError(code, summary, { members });
}

const MAX_NAMED = 5;

function summaryOf(results: readonly MemberResult[], counts: Readonly<Record<Outcome, number>>, subject: string): string {
  const total = results.length;
  const told = OUTCOMES.slice(1).flatMap((outcome) => {
    const some = results.filter((one) => one.outcome === outcome);
    return some.length === 0 ? [] : [`${WORDS[outcome]}: ${listed(some)}`];
  });
  return [`${subject}: ${counts.settled} of ${total} done`, ...told].join('; ');
}

const WORDS: Readonly<Record<Outcome, string>> = {
  settled: 'done',
  not_settled: 'not there yet',
  failed: 'failed',
  skipped: 'skipped',
};

function listed(results: readonly MemberResult[]): string {
  const named = results.slice(0, MAX_NAMED).map(({ name, reason }) => (reason === undefined ? name : `${name} (${reason})`));
  const more = results.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
