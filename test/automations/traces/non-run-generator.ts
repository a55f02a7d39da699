import type { TraceCause } from '../../../src/automations/traces/trace.ts';
import type { PipelineCollaborators } from '../../../src/calls/pipeline-context.ts';
import type { ApprovalQueue } from '../../../src/core/auth/approvals.ts';
import { AtmoError } from '../../../src/core/errors.ts';
import type { SensorId } from '../../../src/core/ids.ts';
import type { Json, JsonObject } from '../../../src/core/json.ts';
import { approvalsSaying } from '../../calls/approvals-fake.ts';
import { settled } from '../../calls/pipeline-fixture.ts';
import { seededRandom } from '../../seeded-random.ts';
import { type AgentFixture, ENOUGH, LAMP_ON, SENSOR } from '../agent-fixture.ts';

const MINUTE = 60;

/** What a case changes of the hub. */
export interface Home {
  approvals?: ApprovalQueue;
  rules?: PipelineCollaborators['rules'];
  isTimeTrusted?: () => boolean;
}

/** What a case works on. A restart puts another hub in place of `hub`. */
export interface Scene {
  hub: AgentFixture;
  readonly random: () => number;
  /** Stops or kills the hub, lets time pass, and starts it again. */
  restart(kind: 'stop' | 'kill', seconds: number): Promise<void>;
}

/** The true reason at a moment. */
export interface Truth {
  readonly atMs: number;
  /** What was shown then, if the cause is about a value. */
  readonly value?: Json;
}

/** One kind of reason why an automation did not run, or did not run to its end: how it looks, and how it comes about. */
export interface Kind {
  readonly cause: TraceCause;
  config(random: () => number): JsonObject;
  plant(scene: Scene, config: JsonObject): Promise<Truth>;
  readonly home?: () => Home;
  /** The automation cannot be set off beside it, because that would be another reason. */
  readonly isAlone?: true;
  /** The hub is not started again, because that would be another reason. */
  readonly staysUp?: true;
}

export const PERMISSIONS = [
  ...ENOUGH,
  'device:read:switch',
  'device:read:lamp',
  'flag:read:*',
  'flag:set:*',
  'presence:read',
  'admin:approvals',
  'admin:agents',
  'scene:read:*',
  'notice:send:ann',
];

const GO: JsonObject = { type: 'webhook', name: 'go' };
const whole = (random: () => number, least: number, most: number) => least + Math.floor(random() * (most - least + 1));
const oneOf = <T>(random: () => number, all: readonly [T, ...T[]]): T => all[Math.floor(random() * all.length)] ?? all[0];

/** Somebody posts to the webhook `go`. Returns when. */
export async function post({ hub }: Scene, webhook = 'go'): Promise<number> {
  const atMs = hub.clock.now();
  await hub.call('post_to_webhook', { agent_id: 'auto', webhook });
  await settled();
  return atMs;
}

const simple = (extra: JsonObject = {}): JsonObject => ({ trigger: GO, actions: [LAMP_ON], cooldown_seconds: 0, ...extra });
const posted = async (scene: Scene, value?: Json): Promise<Truth> => ({ atMs: await post(scene), ...(value !== undefined && { value }) });

const above = (random: () => number, extra: JsonObject = {}): JsonObject => ({
  type: 'reading',
  sensor_id: SENSOR,
  above: whole(random, 20, 30),
  ...extra,
});
const limitOf = ({ trigger }: JsonObject): number => Number((trigger as readonly JsonObject[])[0]?.above);
/** The planted trigger stands first. */
const watching = (trigger: JsonObject, extra: JsonObject = {}): JsonObject => ({
  ...simple(extra),
  trigger: [trigger],
});

async function event({ hub }: Scene, name: string, ageSeconds = 0): Promise<void> {
  hub.events.emit('device.event', 'switch', {
    event: name,
    cluster: 'Switch',
    data: {},
    at_ms: hub.clock.now() - ageSeconds * 1000,
  });
  await settled();
}

/** Runs the automation five times with a lamp that does not answer. */
async function fail(scene: Scene): Promise<void> {
  scene.hub.onLamp(async () => {
    throw new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');
  });
  for (let time = 0; time < 5; time++) {
    await post(scene);
    await scene.hub.pass(10);
  }
}

const pending = () => ({
  state: 'pending' as const,
  approvalId: 'ap-1',
  expiresAt: '2026-12-01T00:00:00.000Z',
  waitsForS: 600,
  needed: 1,
  given: 0,
  summary: 'auto wants it',
  willDo: [],
});

const UNLOCK = simple({ actions: [{ tool: 'matter:lamp_unlock' }] });
const decide = async ({ hub }: Scene, state: string) => {
  hub.events.emit('approval.decided', 'ap-1', { approval_id: 'ap-1', state });
  await settled();
};

const CONDITIONS: readonly Kind[] = [
  {
    cause: 'condition_false',
    config: (random) => simple({ conditions: [above(random)] }),
    async plant(scene, config) {
      const value = Number((config.conditions as readonly JsonObject[])[0]?.above) - whole(scene.random, 0, 10);
      await scene.hub.report(value);
      return posted(scene, value);
    },
  },
  {
    cause: 'condition_false',
    config: () => simple({ conditions: [{ type: 'time', after: '20:00', before: '23:00' }] }),
    plant: (scene) => posted(scene),
  },
  {
    cause: 'condition_false',
    config: (random) => simple({ conditions: [{ type: 'flag', flag: oneOf(random, ['vacation', 'night']), is: true }] }),
    plant: (scene) => posted(scene, null),
  },
  {
    cause: 'condition_false',
    config: () => simple({ conditions: [{ type: 'not', conditions: [{ type: 'flag', flag: 'guests' }] }] }),
    async plant(scene) {
      await scene.hub.call('set_flag', { flag: 'guests', value: true });
      return posted(scene, true);
    },
  },
  {
    cause: 'condition_false',
    config: () => simple({ conditions: [{ type: 'presence', person: 'ann', is: 'home' }] }),
    async plant(scene) {
      await scene.hub.call('set_presence', { person: 'ann', presence: 'away' });
      return posted(scene, 'away');
    },
  },
  {
    cause: 'condition_false',
    config: () => simple({ conditions: [{ type: 'reachability', device_id: 'switch', is: 'unreachable' }] }),
    async plant(scene) {
      await scene.hub.reach('switch', 'reachable');
      return posted(scene, 'reachable');
    },
  },
  {
    cause: 'condition_false',
    config: (random) => simple({ conditions: [{ type: 'expression', expr: `readings["${SENSOR}"] > ${whole(random, 40, 50)}` }] }),
    async plant(scene) {
      await scene.hub.report(30);
      return posted(scene);
    },
  },
  {
    cause: 'condition_false',
    config: (random) =>
      simple({
        conditions: [
          { type: 'flag', flag: 'off', is: false },
          { type: 'or', conditions: [above(random), above(random)] },
        ],
      }),
    async plant(scene) {
      await scene.hub.report(12);
      return posted(scene, 12);
    },
  },
  {
    cause: 'condition_unknown',
    config: (random) => simple({ conditions: [above(random)] }),
    async plant(scene) {
      await scene.hub.report(40);
      await scene.hub.reach('hall-sensor', 'unreachable');
      return posted(scene, 40);
    },
  },
  {
    cause: 'condition_unknown',
    config: (random) => simple({ conditions: [above(random, { max_age_seconds: 60 })] }),
    async plant(scene) {
      await scene.hub.report(40);
      await scene.hub.pass(whole(scene.random, 61, 300));
      return posted(scene, 40);
    },
  },
  {
    cause: 'condition_unknown',
    config: (random) => simple({ conditions: [{ type: 'not', conditions: [above(random)] }] }),
    async plant(scene) {
      await scene.hub.report(null);
      return posted(scene, null);
    },
  },
];

const LIMITS: readonly Kind[] = [
  {
    cause: 'cooldown',
    config: (random) => simple({ cooldown_seconds: whole(random, 300, 3600) }),
    isAlone: true,
    async plant(scene) {
      await post(scene);
      await scene.hub.pass(150);
      return posted(scene);
    },
  },
  {
    cause: 'rate_limit',
    config: (random) => simple({ max_runs_per_hour: whole(random, 1, 4) }),
    isAlone: true,
    async plant(scene, { max_runs_per_hour: most }) {
      for (let run = 0; run < Number(most); run++) {
        await post(scene);
        await scene.hub.pass(150);
      }
      return posted(scene);
    },
  },
  {
    cause: 'previous_run',
    config: () => simple({ actions: [{ type: 'wait', seconds: 400 }, LAMP_ON] }),
    async plant(scene) {
      await post(scene);
      await scene.hub.pass(150);
      const truth = await posted(scene);
      await scene.hub.pass(300);
      return truth;
    },
  },
  {
    cause: 'superseded',
    config: () => simple({ actions: [{ type: 'wait', seconds: 130 }, LAMP_ON] }),
    async plant(scene) {
      await post(scene);
      await scene.hub.pass(80);
      const truth = await posted(scene);
      await scene.hub.pass(30);
      await post(scene);
      await scene.hub.pass(300);
      return truth;
    },
  },
  {
    cause: 'no_longer_holds',
    config: (random) => watching(above(random), { cooldown_seconds: 50 }),
    isAlone: true,
    async plant(scene, config) {
      const limit = limitOf(config);
      for (const value of [limit - 1, limit + 1]) await scene.hub.report(value);
      await scene.hub.pass(10);
      await scene.hub.report(limit - 1);
      const atMs = scene.hub.clock.now();
      await scene.hub.report(limit + 1);
      await scene.hub.report(limit - 1);
      await scene.hub.pass(60);
      return { atMs };
    },
  },
  {
    cause: 'resting',
    config: () => simple(),
    isAlone: true,
    async plant(scene) {
      await fail(scene);
      await scene.hub.pass(150);
      return posted(scene);
    },
  },
];

const STATES: readonly Kind[] = [
  {
    cause: 'disabled',
    config: () => simple(),
    async plant(scene) {
      await scene.hub.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
      await scene.hub.pass(whole(scene.random, 100, 4000));
      const truth = await posted(scene);
      await scene.hub.pass(600);
      if (scene.random() < 0.5) await scene.hub.call('set_agent_enabled', { agent_id: 'auto', enabled: true });
      return truth;
    },
  },
  {
    cause: 'ended',
    config: () => simple(),
    async plant(scene) {
      await scene.hub.call('kill_agent', { agent_id: 'auto', reason: 'no longer needed' });
      await scene.hub.pass(600);
      return posted(scene);
    },
  },
  {
    cause: 'not_observable',
    config: (random) => watching(above(random)),
    isAlone: true,
    async plant({ hub }, config) {
      const { authorizer } = hub;
      const authorize = authorizer.authorize.bind(authorizer);
      await hub.report(limitOf(config) - 1);
      authorizer.authorize = (principal, required) =>
        principal.id === 'auto' && required.includes(`sensor:read:${SENSOR}`)
          ? { allowed: false, required, reason: 'taken away' }
          : authorize(principal, required);
      const atMs = hub.clock.now();
      await hub.report(limitOf(config) + 1);
      authorizer.authorize = authorize;
      return { atMs };
    },
  },
  {
    cause: 'disk_refused',
    config: () => simple(),
    async plant(scene) {
      const { store } = scene.hub;
      const set = store.set.bind(store);
      store.set = (space, key, value, options) => {
        if (space === 'agents') throw new AtmoError('STORAGE_FAILED', 'The disk is full');
        set(space, key, value, options);
      };
      const truth = await posted(scene);
      store.set = set;
      return truth;
    },
  },
  {
    cause: 'hub_off',
    config: () => watching({ type: 'time', at: '03:00' }),
    async plant(scene) {
      const { clock } = scene.hub;
      const atMs = Date.UTC(2026, 0, 1, 3);
      await scene.hub.pass((atMs - clock.now()) / 1000 - 20 * MINUTE);
      await scene.restart(oneOf(scene.random, ['stop', 'kill']), 40 * MINUTE);
      return { atMs };
    },
  },
];

const untrusted = (): Home => ({ isTimeTrusted: () => false });

const TIMES: readonly Kind[] = [
  {
    cause: 'clock_not_trusted',
    config: () => watching({ type: 'time', at: '03:00' }),
    home: untrusted,
    async plant(scene) {
      const atMs = Date.UTC(2026, 0, 1, 3);
      await scene.hub.pass((atMs - scene.hub.clock.now()) / 1000 + 120);
      return { atMs };
    },
  },
  {
    cause: 'late',
    config: () => watching({ type: 'time', at: '03:00' }),
    async plant(scene) {
      const { clock } = scene.hub;
      const atMs = Date.UTC(2026, 0, 1, 3);
      await scene.hub.pass((atMs - clock.now()) / 1000 - 30 * MINUTE);
      clock.correctBy(3_600_000);
      await scene.hub.pass(120);
      return { atMs };
    },
  },
  {
    cause: 'wrong_day',
    // The first of January 2026 is a Thursday.
    config: () => watching({ type: 'time', at: '03:00', days: ['mon', 'tue', 'fri'] }),
    async plant(scene) {
      const atMs = Date.UTC(2026, 0, 1, 3);
      await scene.hub.pass((atMs - scene.hub.clock.now()) / 1000 + 600);
      return { atMs };
    },
  },
  {
    cause: 'not_due',
    config: () => watching({ type: 'time', at: '21:00' }),
    plant: async ({ hub }) => ({ atMs: hub.clock.now() }),
  },
];

const READINGS: readonly Kind[] = [
  {
    cause: 'not_reached',
    config: (random) => watching(above(random)),
    async plant({ hub, random }, config) {
      const value = limitOf(config) - whole(random, 0, 9);
      await hub.report(value);
      await hub.pass(60);
      return { atMs: hub.clock.now(), value };
    },
  },
  {
    cause: 'already_there',
    config: (random) => watching(above(random)),
    async plant({ hub }, config) {
      for (const value of [limitOf(config) - 1, limitOf(config) + 1]) await hub.report(value);
      await hub.pass(20 * MINUTE);
      await hub.report(limitOf(config) + 3);
      await hub.pass(60);
      return { atMs: hub.clock.now(), value: limitOf(config) + 3 };
    },
  },
  {
    cause: 'hysteresis',
    config: (random) => watching(above(random, { hysteresis: 5 })),
    async plant({ hub }, config) {
      for (const value of [limitOf(config) - 9, limitOf(config) + 1]) await hub.report(value);
      await hub.pass(20 * MINUTE);
      await hub.report(limitOf(config) - 3);
      await hub.pass(60);
      const atMs = hub.clock.now();
      await hub.report(limitOf(config) + 2);
      return { atMs, value: limitOf(config) + 2 };
    },
  },
  {
    cause: 'for_seconds_interrupted',
    config: (random) => watching(above(random, { for_seconds: 300 })),
    async plant({ hub, random }, config) {
      for (const value of [limitOf(config) - 1, limitOf(config) + 1]) await hub.report(value);
      await hub.pass(whole(random, 10, 290));
      const atMs = hub.clock.now();
      const kind = whole(random, 0, 2);
      if (kind === 0) await hub.report(null);
      else if (kind === 1) await hub.reach('hall-sensor', 'unreachable');
      else await hub.report(limitOf(config) - 2);
      return kind === 2 ? { atMs, value: limitOf(config) - 2 } : { atMs };
    },
  },
  {
    cause: 'first_value',
    config: (random) => watching(above(random)),
    async plant({ hub }, config) {
      const value = limitOf(config) + 1;
      const atMs = hub.clock.now();
      await hub.report(value);
      return { atMs, value };
    },
  },
  {
    cause: 'reading_unknown',
    config: (random) => watching(above(random)),
    async plant({ hub }, config) {
      await hub.report(limitOf(config) - 1);
      await hub.pass(60);
      const atMs = hub.clock.now();
      await hub.report(null);
      return { atMs };
    },
  },
  {
    cause: 'reading_too_old',
    config: (random) => watching(above(random)),
    async plant({ hub }, config) {
      await hub.report(limitOf(config) - 1);
      await hub.pass(400);
      const atMs = hub.clock.now();
      await hub.report(limitOf(config) + 1, { ageMs: 90_000 });
      return { atMs, value: limitOf(config) + 1 };
    },
  },
  {
    cause: 'unreachable',
    config: (random) => watching(above(random)),
    async plant({ hub }, config) {
      await hub.report(limitOf(config) - 1);
      await hub.pass(60);
      const atMs = hub.clock.now();
      await hub.reach('hall-sensor', 'unreachable');
      return { atMs };
    },
  },
  {
    cause: 'sensor_gone',
    staysUp: true,
    config: (random) => watching(above(random)),
    async plant({ hub }) {
      hub.readings.describe(SENSOR as SensorId, null);
      return { atMs: hub.clock.now() };
    },
  },
];

const BUTTON: JsonObject = { type: 'device_event', device_id: 'switch', event: 'InitialPress' };
const at = async ({ hub }: Scene, act: () => Promise<unknown>): Promise<Truth> => {
  const atMs = hub.clock.now();
  await act();
  await settled();
  return { atMs };
};

const EVENTS: readonly Kind[] = [
  { cause: 'other_event', config: () => watching(BUTTON), plant: (scene) => at(scene, () => event(scene, 'LongPress')) },
  { cause: 'event_too_old', config: () => watching(BUTTON), plant: (scene) => at(scene, () => event(scene, 'InitialPress', 90)) },
  { cause: 'nothing_came', config: () => watching(BUTTON), plant: (scene) => at(scene, async () => {}) },
  {
    cause: 'first_state',
    config: () => watching({ type: 'presence', person: 'ann', becomes: 'home' }),
    plant: (scene) => at(scene, () => scene.hub.call('set_presence', { person: 'ann', presence: 'home' })),
  },
  {
    cause: 'others_home',
    config: () => watching({ type: 'presence', becomes: 'away' }),
    async plant(scene) {
      for (const person of ['ann', 'ben']) await scene.hub.call('set_presence', { person, presence: 'home' });
      return at(scene, () => scene.hub.call('set_presence', { person: 'ben', presence: 'away' }));
    },
  },
  {
    cause: 'other_person',
    config: () => watching({ type: 'presence', person: 'ann', becomes: 'away' }),
    async plant(scene) {
      for (const person of ['ann', 'ben']) await scene.hub.call('set_presence', { person, presence: 'home' });
      return at(scene, () => scene.hub.call('set_presence', { person: 'ben', presence: 'away' }));
    },
  },
  {
    cause: 'other_decision',
    config: () => watching({ type: 'decision', decision: 'approved' }),
    plant: (scene) =>
      at(scene, async () => scene.hub.events.emit('approval.decided', 'ap-9', { approval_id: 'ap-9', state: 'denied', agent_id: 'bot' })),
  },
  {
    cause: 'other_outcome',
    config: () => watching({ type: 'automation_ended', agent_id: 'watched', outcome: 'failure' }),
    async plant(scene) {
      await scene.hub.spawn(simple(), { name: 'watched' });
      return at(scene, () => scene.hub.call('post_to_webhook', { agent_id: 'watched', webhook: 'go' }));
    },
  },
  { cause: 'other_webhook', config: () => simple(), plant: (scene) => at(scene, () => post(scene, 'come')) },
];

const NO_LAMP = { kind: 'deny', rule: 'no lamp', reason: 'not at night' } as const;

const RUNS: readonly Kind[] = [
  { cause: 'done', config: () => simple(), plant: (scene) => posted(scene) },
  {
    cause: 'running',
    isAlone: true,
    config: () => simple({ actions: [{ type: 'wait', seconds: 7200 }, LAMP_ON] }),
    plant: (scene) => posted(scene),
  },
  {
    cause: 'not_permitted',
    config: () => simple(),
    async plant(scene) {
      const { authorizer } = scene.hub;
      const authorize = authorizer.authorize.bind(authorizer);
      authorizer.authorize = (principal, required) =>
        principal.id === 'auto' && required.includes('device:control:lamp')
          ? { allowed: false, required, reason: 'taken away' }
          : authorize(principal, required);
      const truth = await posted(scene);
      authorizer.authorize = authorize;
      return truth;
    },
  },
  {
    cause: 'step_failed',
    config: () => simple({ actions: [{ type: 'repeat', count: 2, actions: [LAMP_ON] }] }),
    async plant(scene) {
      scene.hub.onLamp(async () => {
        throw new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');
      });
      const truth = await posted(scene);
      scene.hub.onLamp(async () => ({}));
      return truth;
    },
  },
  {
    cause: 'done_with_errors',
    config: () => simple({ actions: [{ ...LAMP_ON, on_error: 'continue' }] }),
    async plant(scene) {
      scene.hub.onLamp(async () => {
        throw new AtmoError('DEVICE_UNREACHABLE', 'The lamp does not answer');
      });
      const truth = await posted(scene);
      scene.hub.onLamp(async () => ({}));
      return truth;
    },
  },
  {
    cause: 'refused_by_rule',
    config: () => simple(),
    home: () => ({ rules: { judge: ({ toolId }) => (toolId.includes('lamp_turn_on') ? NO_LAMP : { kind: 'allow' }) } }),
    plant: (scene) => posted(scene),
  },
  {
    cause: 'approval_denied',
    config: () => UNLOCK,
    home: () => ({ approvals: approvalsSaying(pending) }),
    isAlone: true,
    async plant(scene) {
      const truth = await posted(scene);
      await scene.hub.pass(60);
      await decide(scene, 'denied');
      return truth;
    },
  },
  {
    cause: 'approval_expired',
    config: () => UNLOCK,
    home: () => ({ approvals: approvalsSaying(pending) }),
    isAlone: true,
    async plant(scene) {
      const truth = await posted(scene);
      await scene.hub.pass(60);
      await decide(scene, 'expired');
      return truth;
    },
  },
  {
    cause: 'waits_for_approval',
    staysUp: true,
    config: () => UNLOCK,
    home: () => ({ approvals: approvalsSaying(pending) }),
    isAlone: true,
    plant: (scene) => posted(scene),
  },
  {
    cause: 'waits_for_answer',
    isAlone: true,
    config: () => simple({ actions: [{ type: 'ask', name: 'heat', question: 'Heat the bath?', person: 'ann', timeout_seconds: 7200 }] }),
    plant: (scene) => posted(scene),
  },
  {
    cause: 'waited_in_vain',
    config: () =>
      simple({ actions: [{ type: 'wait_until', conditions: [{ type: 'flag', flag: 'never' }], timeout_seconds: 60 }, LAMP_ON] }),
    async plant(scene) {
      const truth = await posted(scene);
      await scene.hub.pass(61);
      return truth;
    },
  },
  {
    cause: 'given_up',
    config: () => simple({ actions: [{ type: 'wait', seconds: 200 }, LAMP_ON] }),
    async plant(scene) {
      const truth = await posted(scene);
      await scene.hub.pass(100);
      await scene.hub.call('set_agent_enabled', { agent_id: 'auto', enabled: false });
      await scene.hub.call('set_agent_enabled', { agent_id: 'auto', enabled: true });
      return truth;
    },
  },
  {
    cause: 'resumed_late',
    config: () => simple({ actions: [{ type: 'wait', seconds: 200, late_seconds: 10 }, LAMP_ON] }),
    async plant(scene) {
      const truth = await posted(scene);
      await scene.hub.pass(100);
      await scene.restart(oneOf(scene.random, ['stop', 'kill']), 30 * MINUTE);
      return truth;
    },
  },
  {
    cause: 'interrupted',
    config: () => simple(),
    async plant(scene) {
      scene.hub.onLamp(() => new Promise(() => {}));
      const truth = await posted(scene);
      await scene.restart('kill', 60);
      return truth;
    },
  },
];

export const KINDS: readonly Kind[] = [...CONDITIONS, ...LIMITS, ...STATES, ...TIMES, ...READINGS, ...EVENTS, ...RUNS];

/** Returns the kind of a seed, and its random numbers. */
export function kindOf(seed: number): { readonly kind: Kind; readonly random: () => number } {
  const kind = KINDS[seed % KINDS.length];
  if (!kind) throw new RangeError(`There is no kind ${seed}`);
  return { kind, random: seededRandom(seed) };
}
