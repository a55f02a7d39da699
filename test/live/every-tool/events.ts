import { describe, expect, test } from 'vitest';
import type { HubEvent } from '../../../src/core/events.ts';
import type { OwnedHome } from './owned-home.ts';
import { PIN } from './rows/moving-rows.ts';

/** Sooner than values come that a device holds back. */
const AT_ONCE = { timeout: 9_000 };

/** What devices tell by themselves, on the event stream; and what must never be told. */
export function describeEvents(ownedHome: () => OwnedHome): void {
  /** What the stream told of a subject since `act` began. */
  async function toldAfter(
    act: () => Promise<void>,
    [type, subject]: readonly [HubEvent['type'], string],
  ): Promise<() => readonly unknown[]> {
    const { events } = ownedHome();
    const before = events.of(type, subject).length;
    await act();
    return () =>
      events
        .of(type, subject)
        .slice(before)
        .map(({ data }) => data);
  }

  describe('events', () => {
    test('a press of a button is told as pressed, released and how often', async () => {
      const button = ownedHome().device('Wall button');
      const press = async (): Promise<void> => {
        await button.set('button', 'Switch', 'CurrentPosition', 1);
        await button.set('button', 'Switch', 'CurrentPosition', 0);
      };
      const told = await toldAfter(press, ['device.event', 'wall-button']);
      await expect.poll(told).toContainEqual(expect.objectContaining({ event: 'InitialPress', title: 'Pressed', kind: 'button' }));
      await expect.poll(told).toContainEqual(expect.objectContaining({ event: 'ShortRelease', title: 'Released' }));
      await expect
        .poll(told)
        .toContainEqual(
          expect.objectContaining({ event: 'MultiPressComplete', data: expect.objectContaining({ totalNumberOfPressesCounted: 1 }) }),
        );
    });

    test('someone who comes is told as event and as reading', async () => {
      const enter = () => ownedHome().device('Hall motion').set('occupancy', 'OccupancySensing', 'Occupancy', { occupied: true });
      const told = await toldAfter(enter, ['device.event', 'hall-motion']);
      await expect.poll(told).toContainEqual(expect.objectContaining({ event: 'OccupancyChanged' }));
      const reading = () => ownedHome().events.of('sensor.reading', 'hall-motion/is_occupied').at(-1)?.data;
      await expect.poll(reading).toMatchObject({ value: true });
    });

    test.each([
      ['Leak detector', 'leak', 'leak-detector/is_leaking', true],
      ['Kitchen window', 'contact', 'kitchen-window/is_open', false],
    ] as const)('%s: a change is told as a reading at once', async (name, part, sensor, raw) => {
      const change = () => ownedHome().device(name).set(part, 'BooleanState', 'StateValue', raw);
      const told = await toldAfter(change, ['sensor.reading', sensor]);
      await expect.poll(told, AT_ONCE).toContainEqual(expect.objectContaining({ value: true }));
    });

    test('smoke is told as an alarm', async () => {
      const smoulder = () => ownedHome().device('Smoke alarm').emit('alarm', 'SmokeCoAlarm', 'SmokeAlarm', { alarmSeverityLevel: 2 });
      const told = await toldAfter(smoulder, ['device.event', 'smoke-alarm']);
      await expect.poll(told).toContainEqual(expect.objectContaining({ event: 'SmokeAlarm', kind: 'alarm', title: 'Smoke' }));
    });

    test('a door that a person of the house unlocked is told with its operation', () => {
      const told = ownedHome()
        .events.of('device.event', 'front-door')
        .map(({ data }) => data);
      expect(told).toContainEqual(
        expect.objectContaining({ event: 'LockOperation', data: expect.objectContaining({ lockOperationType: 'Unlock' }) }),
      );
    });

    test('a job keeps no secret: neither in its answer nor on the disk', async () => {
      const { hub } = ownedHome();
      const answer = await hub.request('/api/v1/tools/matter%3Afront_door_lock/invoke?async=true', {
        method: 'POST',
        body: JSON.stringify({ pin: PIN }),
        headers: { 'content-type': 'application/json' },
      });
      const { job_id: id } = (await answer.json()) as { job_id: string };
      await expect.poll(() => hub.get(`/api/v1/jobs/${id}`)).toMatchObject({ status: 'succeeded' });
      expect(JSON.stringify(await hub.get(`/api/v1/jobs/${id}`))).not.toContain(PIN);
      const files = await ownedHome().hubFiles();
      expect(files.length).toBeGreaterThan(3);
      expect(files.filter(({ content }) => content.includes(PIN)).map(({ name }) => name)).toEqual([]);
    });

    test('each call was told, and no secret was', () => {
      const { events, hub } = ownedHome();
      const all = JSON.stringify(events.events);
      const log = hub.log.join('\n');
      expect(all).toContain('front_door_unlock');
      expect(log).toContain('front_door_unlock');
      for (const secret of [PIN, Buffer.from(PIN).toString('base64'), Buffer.from(PIN).toString('hex'), '20209140']) {
        expect(all).not.toContain(secret);
        expect(log).not.toContain(secret);
      }
    });
  });
}
