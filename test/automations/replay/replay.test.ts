import { expect, test } from 'vitest';
import { settled } from '../../calls/pipeline-fixture.ts';
import { seededRandom } from '../../seeded-random.ts';
import { Choices, LAMP, madeAutomation, OCCUPANCY, OTHER, TEMPERATURE } from './house-life.ts';
import { LivedHouse } from './lived-house.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const SEED = Number(process.env.ATMO_SEED ?? 20261128);
const ROUNDS = Number(process.env.ATMO_ROUNDS ?? 8);

/** Lets something happen in the house. */
async function happen(home: LivedHouse, choices: Choices): Promise<void> {
  const { house } = home;
  const kinds: readonly (() => Promise<unknown> | unknown)[] = [
    ...Array.from({ length: 12 }, () => () => home.report(TEMPERATURE, choices.whole(340, 460) / 20)),
    ...Array.from({ length: 3 }, () => () => home.report(LAMP, choices.isOneIn(2))),
    ...Array.from({ length: 3 }, () => () => home.report(OCCUPANCY, choices.of(['occupied', 'unoccupied']))),
    () => home.report(choices.of([TEMPERATURE, OCCUPANCY]), null),
    () => home.emit('device.event', 'hall-button', { event: 'InitialPress', cluster: 'Switch', data: null, at_ms: home.clock.now() }),
    () => home.reach('hall-sensor', choices.of(['reachable', 'unreachable', 'reachable'])),
    () =>
      house.flags.set({
        name: 'vacation_mode',
        value: true,
        setBy: 'ann',
        ...(choices.isOneIn(2) && { untilMs: home.clock.now() + 7_200_000 }),
      }),
    () => house.flags.clear('vacation_mode'),
    () => house.presences.set({ person: choices.of(['ann', 'ben']), presence: choices.of(['home', 'away']), setBy: 'phone' }),
    () => home.emit('scene.run', 'night', { scene: 'night' }),
    () => home.emit('approval.decided', 'approval-1', { state: choices.of(['approved', 'denied']), agent_id: OTHER }),
    () => home.emit('agent.changed', OTHER, { is_running: true }),
    () => home.emit('agent.changed', OTHER, { is_running: false, last_outcome: choices.of(['success', 'failure']) }),
  ];
  await choices.of(kinds)();
  await settled();
}

/** Lets a month go by. The hub stops now and then. */
async function liveForAMonth(home: LivedHouse, choices: Choices): Promise<void> {
  const endMs = home.clock.now() + 30 * DAY_MS;
  while (home.clock.now() < endMs) {
    const waitMs = choices.whole(1, 25 * MINUTE_MS);
    await home.pass(Math.min(waitMs, endMs - home.clock.now()));
    if (home.clock.now() >= endMs) return;
    if (choices.isOneIn(300)) await home.restart(Math.min(choices.whole(1, 180) * MINUTE_MS, endMs - home.clock.now()));
    else await happen(home, choices);
  }
}

test(`a replay of the past month says of ${ROUNDS} automations when they ran in it`, async () => {
  let total = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const choices = new Choices(seededRandom(SEED + round));
    const config = madeAutomation(choices);
    await using home = new LivedHouse();
    await home.start();
    await home.pass(MINUTE_MS);
    home.live(config);
    await liveForAMonth(home, choices);
    const { runs, list } = await home.replay(config);
    const at = (ms: number) => new Date(ms).toISOString();
    const said = `seed ${SEED + round}: ${JSON.stringify(config)}`;
    expect(
      list.map((run) => run.at),
      said,
    ).toEqual(home.runs.slice(-100).reverse().map(at));
    expect(runs, said).toBe(home.runs.length);
    total += runs;
  }
  expect(total).toBeGreaterThan(ROUNDS * 10);
}, 120_000);
