import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Aggregation, HistoryPoint, HistoryQuery } from '../../../src/core/devices/sensor-readings.ts';
import { AuditLogFixture, sensorId, sensorInfo } from '../storage-fixture.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const HALL = sensorId('hall/temperature');
const AIR = sensorId('hall/air_quality');

interface Said {
  readonly atMs: number;
  readonly value: number;
}

/** What a history must answer, computed from all readings without any store. */
function expected(said: readonly Said[], { startMs, endMs, aggregation, everyMs }: HistoryQuery): readonly HistoryPoint[] {
  const inside = [...new Map(said.map((reading) => [reading.atMs, reading])).values()]
    .filter(({ atMs }) => atMs >= startMs && atMs <= endMs)
    .sort((a, b) => a.atMs - b.atMs);
  if (aggregation === 'none') return inside;
  const buckets = Map.groupBy(inside, ({ atMs }) =>
    everyMs === undefined ? startMs : Math.max(startMs, Math.floor(atMs / everyMs) * everyMs),
  );
  return [...buckets].map(([atMs, readings]) => ({
    atMs,
    value: aggregate(
      readings.map(({ value }) => value),
      aggregation,
    ),
  }));
}

function aggregate(values: readonly number[], aggregation: Exclude<Aggregation, 'none'>): number {
  const sum = values.reduce((total, value) => total + value, 0);
  return { avg: sum / values.length, min: Math.min(...values), max: Math.max(...values), sum }[aggregation];
}

describe('what sensors say now', () => {
  test('a described sensor that never spoke is listed without a value', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    store.describe(HALL, sensorInfo('hall/temperature'));
    expect(store.sensors()).toEqual([{ sensor: sensorInfo('hall/temperature'), value: null, atMs: 0, reachability: 'unknown' }]);
  });

  test('the newest value has its time and the reachability of its device', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    store.describe(HALL, sensorInfo('hall/temperature'));
    store.record(HALL, 20.5, 2000);
    store.record(HALL, 19, 1000);
    store.setReachability(sensorInfo('hall/temperature').device, 'unreachable');
    expect(store.current(HALL)).toMatchObject({ value: 20.5, atMs: 2000, reachability: 'unreachable' });
  });

  test('a value of which the time was lost has that of the same value in the history, else none', async () => {
    await using fixture = new AuditLogFixture();
    const first = await fixture.history();
    const saidMs = fixture.clock.now();
    first.record(HALL, 2.99, saidMs);
    first.flush();
    await first[Symbol.asyncDispose]();
    fixture.clock.advance(HOUR);
    const store = await fixture.history();
    store.describe(HALL, sensorInfo('hall/temperature'));
    store.record(HALL, 2.99, 0);
    expect(store.current(HALL)).toMatchObject({ value: 2.99, atMs: saidMs });
    store.record(AIR, 'good', 0);
    store.describe(AIR, sensorInfo('hall/air_quality'));
    expect(store.current(AIR)).toMatchObject({ value: 'good', atMs: 0 });
    expect(store.history({ sensor: HALL, startMs: 0, endMs: fixture.clock.now(), aggregation: 'none' })).toHaveLength(1);
  });

  test('booleans and texts are returned unchanged, and a number that is not finite is no value', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    store.describe(HALL, sensorInfo('hall/temperature'));
    const told = [true, 'good', Number.NaN, null].map((value, index) => {
      store.record(HALL, value, index);
      return store.current(HALL)?.value;
    });
    expect(told).toEqual([true, 'good', null, null]);
  });

  test('sensors are sorted by id, a removed one is gone while its history stays', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    for (const id of ['b/x', 'a/x', 'a/w']) store.describe(sensorId(id), sensorInfo(id));
    store.record(sensorId('a/x'), 1, fixture.clock.now());
    store.describe(sensorId('a/x'), null);
    expect(store.sensors().map(({ sensor }) => sensor.id)).toEqual(['a/w', 'b/x']);
    expect(store.current(sensorId('a/x'))).toBeUndefined();
    expect(store.history({ sensor: sensorId('a/x'), startMs: 0, endMs: fixture.clock.now(), aggregation: 'none' })).toHaveLength(1);
  });
});

describe('history', () => {
  test('answers as if every reading were summed up on the spot, whatever slots it reads', async () => {
    await using fixture = new AuditLogFixture();
    const startMs = fixture.clock.now();
    const aggregation = fc.constantFrom<Aggregation>('none', 'avg', 'min', 'max', 'sum');
    const offset = fc.integer({ min: -HOUR, max: 8 * HOUR });
    const scenario = fc.record({
      // How long until the next reading, its value, and how late it arrives.
      steps: fc.array(
        fc.tuple(fc.integer({ min: 1, max: 20 * MINUTE }), fc.integer({ min: -50, max: 50 }), fc.constantFrom(0, 0, 0, 17 * MINUTE)),
        {
          maxLength: 60,
        },
      ),
      queries: fc.array(
        fc.tuple(offset, offset, aggregation, fc.constantFrom(undefined, 7 * MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR)),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
    });
    let run = 0;
    const store = await fixture.history({ unchangedEveryMs: 0 });
    fc.assert(
      fc.property(scenario, ({ steps, queries }) => {
        const sensor = sensorId(`run${run++}/temperature`);
        store.describe(sensor, sensorInfo(sensor));
        const beganMs = fixture.clock.now();
        const said = steps.map(([waitMs, value, lateMs]) => {
          fixture.clock.advance(waitMs);
          const reading = { atMs: Math.max(startMs, fixture.clock.now() - lateMs), value: value / 4 };
          store.record(sensor, reading.value, reading.atMs);
          return reading;
        });
        for (const [a, b, how, everyMs] of queries) {
          const query = { sensor, startMs: beganMs + Math.min(a, b), endMs: beganMs + Math.max(a, b), aggregation: how };
          const asked = everyMs === undefined ? query : { ...query, everyMs };
          expect(store.history(asked)).toEqual(
            expected(said, asked).map((point) =>
              expect.objectContaining({ atMs: point.atMs, value: expect.closeTo(Number(point.value), 9) }),
            ),
          );
        }
      }),
      { numRuns: 60 },
    );
  });

  test('both ends belong to the range', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const atMs = fixture.clock.now();
    store.record(HALL, 20, atMs);
    expect(store.history({ sensor: HALL, startMs: atMs, endMs: atMs, aggregation: 'none' })).toEqual([{ atMs, value: 20 }]);
  });

  test('the newest points stay when there are more than the limit', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const atMs = fixture.clock.now();
    for (let n = 0; n < 10; n++) store.record(HALL, n, atMs + n * MINUTE);
    const query = { sensor: HALL, startMs: 0, endMs: atMs + HOUR, limit: 3 } as const;
    expect(store.history({ ...query, aggregation: 'none' }).map(({ value }) => value)).toEqual([7, 8, 9]);
    expect(store.history({ ...query, aggregation: 'max', everyMs: 2 * MINUTE }).map(({ value }) => value)).toEqual([5, 7, 9]);
  });

  test('booleans are 0 and 1, so that their mean is the share of true readings', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const atMs = fixture.clock.now();
    for (const [n, value] of [true, false, true, false].entries()) store.record(HALL, value, atMs + n);
    const query = { sensor: HALL, startMs: atMs, endMs: atMs + 9 };
    expect(store.history({ ...query, aggregation: 'none' }).map(({ value }) => value)).toEqual([1, 0, 1, 0]);
    expect(store.history({ ...query, aggregation: 'avg' })).toEqual([{ atMs, value: 0.5 }]);
  });

  test('texts are kept as they are, digits included, and have no mean', async () => {
    await using fixture = new AuditLogFixture();
    const before = await fixture.history();
    const atMs = fixture.clock.now();
    before.record(AIR, 'good', atMs);
    before.record(AIR, '5', atMs + 1);
    await before[Symbol.asyncDispose]();
    const store = await fixture.history();
    const query = { sensor: AIR, startMs: atMs, endMs: atMs + HOUR };
    expect(store.history({ ...query, aggregation: 'none' }).map(({ value }) => value)).toEqual(['good', '5']);
    expect(() => store.history({ ...query, aggregation: 'avg' })).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
  });

  test('an unchanged value is kept at most every five minutes, a changed one and one after a gap always', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const atMs = fixture.clock.now();
    const values = [20, 20, 20, 21, 21, 20, 20, 20, 20, 20, 20, null, 20];
    for (const [minute, value] of values.entries()) store.record(HALL, value, atMs + minute * MINUTE);
    const points = store.history({ sensor: HALL, startMs: atMs, endMs: atMs + HOUR, aggregation: 'none' });
    expect(points.map((point) => (point.atMs - atMs) / MINUTE)).toEqual([0, 3, 5, 10, 12]);
  });

  test('the value after a gap of its device is kept, though it is the same', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    store.describe(HALL, sensorInfo('hall/temperature'));
    const atMs = fixture.clock.now();
    store.record(HALL, 20, atMs);
    store.setReachability(sensorInfo('hall/temperature').device, 'unreachable');
    store.record(HALL, 20, atMs + MINUTE);
    const points = store.history({ sensor: HALL, startMs: atMs, endMs: atMs + HOUR, aggregation: 'none' });
    expect(points.map((point) => (point.atMs - atMs) / MINUTE)).toEqual([0, 1]);
  });

  test('numbers have a mean after a restart, and a range without an end is refused', async () => {
    await using fixture = new AuditLogFixture();
    const first = await fixture.history();
    const atMs = fixture.clock.now();
    first.record(HALL, 20, atMs);
    first.record(HALL, 22, atMs + MINUTE);
    await first[Symbol.asyncDispose]();
    const store = await fixture.history();
    const query = { sensor: HALL, startMs: atMs, endMs: atMs + HOUR, aggregation: 'avg' } as const;
    expect(store.history(query).map(({ value }) => value)).toEqual([21]);
    expect(() => store.history({ ...query, endMs: atMs - 1 })).toThrow('its start must not be after its end');
  });

  test('an unknown sensor is SENSOR_NOT_FOUND, and one without reports has no points', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const query = { sensor: HALL, startMs: 0, endMs: 1, aggregation: 'none' } as const;
    expect(() => store.history(query)).toThrow(expect.objectContaining({ code: 'SENSOR_NOT_FOUND' }));
    store.describe(HALL, sensorInfo('hall/temperature'));
    expect(store.history(query)).toEqual([]);
  });

  test.each([{ startMs: 2, endMs: 1 }, { startMs: Number.NaN, endMs: 1 }, { everyMs: 0 }, { everyMs: 1.5 }, { limit: 0 }])(
    'the query %j is refused',
    async (part) => {
      await using fixture = new AuditLogFixture();
      const store = await fixture.history();
      const query = { sensor: HALL, startMs: 0, endMs: 1, aggregation: 'avg', ...part } as const;
      expect(() => store.history(query)).toThrow(expect.objectContaining({ code: 'VALIDATION_ERROR' }));
    },
  );

  test('readings are committed once a minute and when stopping', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history();
    const atMs = fixture.clock.now();
    store.record(HALL, 1, atMs);
    await store[Symbol.asyncDispose]();
    const query = { sensor: HALL, startMs: atMs, endMs: atMs + HOUR, aggregation: 'none' } as const;
    expect((await fixture.history()).history(query)).toEqual([{ atMs, value: 1 }]);
  });

  test('a disk that refuses writes is reported once, no reading is lost meanwhile, and the hub works on', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history({ maxFileBytes: 24 * 1024, unchangedEveryMs: 0 });
    for (let minute = 0; minute < 30; minute++) {
      for (let n = 0; n < 100; n++) store.record(HALL, Math.random(), fixture.clock.now() + n);
      fixture.clock.advance(MINUTE);
    }
    expect(fixture.warnings.map(({ data }) => data.warning)).toEqual(['history.readings_not_written']);
    expect(() => store.history({ sensor: HALL, startMs: 0, endMs: 1, aggregation: 'none' })).toThrow(
      expect.objectContaining({ code: 'STORAGE_FAILED' }),
    );
    await store[Symbol.asyncDispose]();
    const reopened = await fixture.history();
    const kept = reopened.history({ sensor: HALL, startMs: 0, endMs: fixture.clock.now(), aggregation: 'none' }).length;
    expect(kept % 100).toBe(0);
    expect(kept).toBeGreaterThan(0);
  });
});

describe('retention', () => {
  test('old readings go, their sums stay and answer the same', async () => {
    await using fixture = new AuditLogFixture();
    const retentionMs = { raw: 6 * HOUR, '5min': 24 * HOUR, '1h': 1000 * HOUR };
    const store = await fixture.history({ retentionMs, unchangedEveryMs: 0 });
    const startMs = fixture.clock.now();
    const said = Array.from({ length: 48 * 20 }, (_, n) => ({ atMs: startMs + n * 3 * MINUTE, value: (n * 37) % 101 }));
    for (const { atMs, value } of said) {
      store.record(HALL, value, atMs);
      fixture.clock.advance(3 * MINUTE);
    }
    const endMs = fixture.clock.now();
    const raw = store.history({ sensor: HALL, startMs, endMs, aggregation: 'none' });
    expect(endMs - (raw[0]?.atMs ?? 0)).toBe(6 * HOUR);
    for (const aggregation of ['avg', 'min', 'max', 'sum'] as const) {
      const query = { sensor: HALL, startMs, endMs, aggregation, everyMs: HOUR };
      expect(store.history(query)).toEqual(
        expected(said, query).map(({ atMs, value }) => ({ atMs, value: expect.closeTo(Number(value), 9) })),
      );
    }
    const fine = store.history({ sensor: HALL, startMs, endMs, aggregation: 'avg', everyMs: 5 * MINUTE });
    expect(fine.filter(({ atMs }) => atMs < endMs - 24 * HOUR).every(({ atMs }) => atMs % HOUR === 0)).toBe(true);
    expect(fine.filter(({ atMs }) => atMs >= endMs - 24 * HOUR)).toHaveLength(24 * 12);
  });

  test('a reading that arrives after its time was dropped changes nothing', async () => {
    await using fixture = new AuditLogFixture();
    const store = await fixture.history({ retentionMs: { raw: HOUR, '5min': 100 * HOUR, '1h': 100 * HOUR } });
    const startMs = fixture.clock.now();
    store.record(HALL, 10, startMs);
    fixture.clock.advance(5 * HOUR);
    store.record(HALL, 99, startMs + 1);
    const query = { sensor: HALL, startMs, endMs: fixture.clock.now(), aggregation: 'max' } as const;
    expect(store.history(query)).toEqual([{ atMs: startMs, value: 10 }]);
  });
});
