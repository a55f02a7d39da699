import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quantile } from '../../scripts/bench/statistics.ts';
import { findDebianTool } from '../../scripts/network-lab/debian-tool.ts';
import { figure, IS_LONG, LONG_REASON } from './mesh/figures.ts';
import { LabMesh, untilComplete } from './mesh/lab-mesh.ts';
import { runsOf } from './mesh/lab-tools.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { timeUntil } from './mesh/until.ts';

const HUBS = 8;
const CALLS = 400;
const CUT_MS = 60_000;
const HEAL_LIMIT_MS = 15_000;
const LOSSES = [
  { percent: 10, limitMs: 5_000 },
  { percent: 30, limitMs: 20_000 },
];

const hasNft = findDebianTool('nft') !== undefined;
const NFT_REASON = hasNft ? '' : ' (skipped: nft is missing; scripts/netlab tools gets it)';

/** Calls the hub's counter once per ticket, eight at a time; answers what each call came to. */
async function callMany(from: MeshHub, to: MeshHub, tickets: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const outcomes = new Map<string, string>();
  const waiting = [...tickets];
  const worker = async () => {
    for (let ticket = waiting.shift(); ticket !== undefined; ticket = waiting.shift()) {
      const answer = await from.call(`lab:count_${to.name}`, { ticket }, '?timeout_ms=20000');
      outcomes.set(ticket, answer.status === 'error' ? answer.error.code : answer.status);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return outcomes;
}

/** No ticket ran twice, each that succeeded ran, none that was refused before it was sent did. */
function expectOnce(hub: MeshHub, outcomes: ReadonlyMap<string, string>): void {
  const runs = runsOf(hub.stateDir).filter((ticket) => outcomes.has(ticket));
  expect(runs.length).toBe(new Set(runs).size);
  const of = (code: string) => [...outcomes].filter(([, outcome]) => outcome === code).map(([ticket]) => ticket);
  expect(of('success').filter((ticket) => !runs.includes(ticket))).toEqual([]);
  expect(of('NODE_UNAVAILABLE').filter((ticket) => runs.includes(ticket))).toEqual([]);
}

const tickets = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`);

describe.skipIf(!IS_LONG)(`hubs on a bad network${LONG_REASON}`, () => {
  let mesh: LabMesh;
  let hubs: readonly MeshHub[];
  let a: MeshHub;
  let b: MeshHub;

  beforeAll(async () => {
    mesh = await new LabMesh().start();
    hubs = await mesh.addMesh(HUBS);
    [a, b] = hubs as [MeshHub, MeshHub];
  });
  afterAll(() => mesh?.[Symbol.asyncDispose]());

  test.skipIf(!hasNft).each(LOSSES)(
    `with $percent % loss a restarted hub knows everybody, and nothing runs twice${NFT_REASON}`,
    async ({ percent, limitMs }) => {
      await b.stop();
      await Promise.all(hubs.map((hub) => hub.host.loseIncoming(percent)));
      try {
        await b.start();
        const completeMs = await untilComplete(hubs, 2 * limitMs);
        figure(`loss_${percent}.complete`, completeMs, 'ms');
        expect(completeMs).toBeLessThanOrEqual(limitMs);
        const startMs = performance.now();
        const outcomes = await callMany(a, b, tickets(`loss ${percent}`, CALLS));
        figure(`loss_${percent}.call_mean`, (8 * (performance.now() - startMs)) / CALLS, 'ms');
        figure(`loss_${percent}.succeeded`, [...outcomes.values()].filter((outcome) => outcome === 'success').length / CALLS, 'of calls');
        expectOnce(b, outcomes);
        expect([...outcomes.values()].filter((outcome) => outcome === 'success').length).toBeGreaterThan(CALLS / 2);
      } finally {
        await Promise.all(hubs.map((hub) => hub.host.loseIncoming(0)));
      }
    },
  );

  test('calls whose connection is cut in the middle run at most once', async () => {
    await untilComplete(hubs);
    const slow = tickets('cut', 8).map((ticket) =>
      a.call(`lab:count_${b.name}`, { ticket, wait_ms: 2_000 }, '?timeout_ms=20000').then((answer) => [ticket, answer] as const),
    );
    await sleep(1_000);
    await b.host.unplug();
    await sleep(CUT_MS / 3);
    await b.host.plug();
    const outcomes = new Map(
      (await Promise.all(slow)).map(([ticket, answer]) => [ticket, answer.status === 'error' ? answer.error.code : answer.status]),
    );
    expectOnce(b, outcomes);
  });

  test(`a partition of ${CUT_MS / 1_000} s heals within 15 s, with what happened meanwhile`, async () => {
    await untilComplete(hubs);
    const others = hubs.filter((hub) => hub !== b);
    await mesh.lab.partition([b.host]);
    await sleep(CUT_MS);
    expect((await a.peer(b))?.isReachable).not.toBe(true);
    await others.at(-1)?.stop();
    await others.at(-1)?.start();
    await mesh.lab.heal([b.host]);
    const healedMs = await untilComplete(hubs, 2 * HEAL_LIMIT_MS);
    figure('partition.healed', healedMs, 'ms');
    expect(healedMs).toBeLessThanOrEqual(HEAL_LIMIT_MS);
    const callMs = await timeUntil(
      5_000,
      async () => (await b.call(`lab:count_${a.name}`, { ticket: 'healed' })).status === 'success',
      'a call',
    );
    expect(callMs).toBeLessThanOrEqual(5_000);
  });

  test('the distribution of calls on a good network is told beside', async () => {
    const times: number[] = [];
    for (let count = 0; count < 50; count++) {
      const startMs = performance.now();
      await a.result(`lab:count_${b.name}`, { ticket: `plain ${count}` });
      times.push(performance.now() - startMs);
    }
    figure('plain.call_p50', quantile(times, 0.5), 'ms');
    expect(runsOf(b.stateDir).filter((ticket) => ticket.startsWith('plain ')).length).toBe(50);
  });
});
