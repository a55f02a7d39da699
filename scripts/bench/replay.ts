/** How long it takes to say what an automation would have done in a month of a house with many sensors, and for how long the hub is kept. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../src/core/json.ts';
import { LivedHouse } from '../../test/automations/replay/lived-house.ts';
import { seededRandom } from '../../test/seeded-random.ts';
import { sensorId, sensorInfo } from '../../test/storage/storage-fixture.ts';
import type { BenchFigure } from './figure.ts';

const SENSORS = Array.from({ length: 50 }, (_, number) => `sensor-${number}/temperature`);
const MINUTES = 30 * 24 * 60;
const MINUTE_MS = 60_000;
const FLUSH_MINUTES = 300;
const TIME_BAR_MS = 10_000;
const TURN_BAR_MS = 50;

const above = (sensor_id: string, limit: number): JsonObject => ({ type: 'reading', sensor_id, above: limit, hysteresis: 1 });
const ON = { tool: 'matter:hall_lamp_turn_on' };

/** An automation that looks at one other sensor, and one that looks at all. */
const AUTOMATIONS: Readonly<Record<string, JsonObject>> = {
  two: { trigger: above('sensor-0/temperature', 22), conditions: [withoutSlack(1)], actions: [ON] },
  all: {
    trigger: SENSORS.slice(0, 8).map((sensor) => above(sensor, 22)),
    conditions: [8, 22, 36].map((from) => ({
      type: 'or',
      conditions: SENSORS.slice(from, from + 14).map((_, index) => withoutSlack(from + index)),
    })),
    actions: [ON, { type: 'wait', seconds: 1200 }],
  },
};

function withoutSlack(number: number): JsonObject {
  return { type: 'reading', sensor_id: `sensor-${number}/temperature`, above: 22 };
}

/** A month of 50 sensors with a reading each minute, each replayed with no other work in this process. */
export async function run(): Promise<BenchFigure[]> {
  await using home = new LivedHouse();
  await home.start();
  await fill(home);
  const figures: BenchFigure[] = [];
  for (const [name, config] of Object.entries(AUTOMATIONS)) figures.push(...(await measured(home, name, config)));
  return figures;
}

async function fill(home: LivedHouse): Promise<void> {
  const random = seededRandom(1);
  const ids = SENSORS.map(sensorId);
  for (const id of SENSORS) home.history.describe(sensorId(id), sensorInfo(id));
  for (let minute = 0; minute < MINUTES; minute++) {
    await home.pass(MINUTE_MS);
    for (const [number, id] of ids.entries()) {
      const celsius = 20 + 5 * Math.sin(minute / 200 + number) + random();
      home.history.record(id, Math.round(celsius * 100) / 100, home.clock.now() - number * 1000);
    }
    if (minute % FLUSH_MINUTES === 0) home.history.flush();
  }
  home.history.flush();
}

async function measured(home: LivedHouse, name: string, config: JsonObject): Promise<readonly BenchFigure[]> {
  // Schemas are compiled when they are used for the first time.
  await home.replay(config, 1);
  const turns = new LongestTurn();
  const before = process.cpuUsage();
  const { runs } = await home.replay(config);
  const { user, system } = process.cpuUsage(before);
  const [usedMs, turnMs] = [(user + system) / 1000, await turns.end()];
  const common = { unit: 'ms', samples: MINUTES * SENSORS.length };
  return [
    {
      ...common,
      name: `replay.${name}`,
      value: usedMs,
      bar: TIME_BAR_MS,
      ok: usedMs <= TIME_BAR_MS,
      vs: `processor time for ${runs} runs`,
    },
    {
      ...common,
      name: `replay.${name}_turn`,
      value: turnMs,
      bar: TURN_BAR_MS,
      ok: turnMs <= TURN_BAR_MS,
      vs: 'processor time of the longest turn',
    },
  ];
}

/** Measures the processor time of each turn of the event loop. */
class LongestTurn {
  #longestMs = 0;
  #isEnded = false;
  readonly #measuring = this.#measure();

  async end(): Promise<number> {
    this.#isEnded = true;
    await this.#measuring;
    return this.#longestMs;
  }

  async #measure(): Promise<void> {
    while (!this.#isEnded) {
      const before = process.threadCpuUsage();
      await nextTurn();
      const { user, system } = process.threadCpuUsage(before);
      this.#longestMs = Math.max(this.#longestMs, (user + system) / 1000);
    }
  }
}
