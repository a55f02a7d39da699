import { type ExpectStatic, expect } from 'vitest';
import type { JsonObject } from '../../../src/core/json.ts';
import type { VirtualDevice } from '../../home/virtual-device.ts';
import type { RunningHub } from '../running-hub.ts';
import type { Fact, Sent, ToolRow } from './tool-row.ts';

const SOON = { interval: 40 };
const IN_MOTION = { interval: 100 };

/** Calls tools of one device and compares the answers with rows, and the rows with the device's own process. */
export class RowCaller {
  readonly #hub: RunningHub;
  readonly #device: VirtualDevice;
  // Tests that run side by side have an `expect` each.
  readonly #expect: ExpectStatic;

  constructor(hub: RunningHub, device: VirtualDevice, expect: ExpectStatic) {
    this.#hub = hub;
    this.#device = device;
    this.#expect = expect;
  }

  async call(row: ToolRow): Promise<void> {
    for (const [endpoint, cluster, attribute, raw] of row.given) await this.#device.set(endpoint, cluster, attribute, raw);
    if (row.isReading) await this.#expectTold(row);
    else await this.#expectDone(row);
  }

  async #expectTold({ tool, params, state }: ToolRow): Promise<void> {
    const told = async (): Promise<unknown> => (await this.#hub.result(`matter:${tool}`, params)).state;
    await this.#expect.poll(told, SOON).toMatchObject(state);
    const { reachability, age_seconds: ageSeconds } = await this.#hub.result(`matter:${tool}`, params);
    this.#expect(reachability).toBe('reachable');
    this.#expect(ageSeconds, 'age in seconds').toBeLessThan(120);
  }

  async #expectDone(row: ToolRow): Promise<void> {
    const effects = row.raw.length > 0 ? row.raw : row.later;
    this.#expect(effects.length + (row.sent ? 1 : 0), 'effects that the row names').toBeGreaterThan(0);
    const before = await this.#rawOf(effects);
    const commandsBefore = (await this.#device.commands()).length;
    const answer = await this.#hub.result(`matter:${row.tool}`, row.params);
    await this.#expectRaw(row.raw, SOON);
    const sent = (await this.#device.commands()).slice(commandsBefore);
    if (row.sent) this.#expect(sent).toContainEqual(sentMatcher(row.sent));
    else this.#expect(before, 'the device showed the effect already before the call').not.toEqual(wanted(effects));
    this.#expectAnswer(answer, row);
    await this.#expectRaw(row.later, IN_MOTION);
  }

  #expectAnswer(answer: JsonObject, row: ToolRow): void {
    const [state, target] = [answer.state as JsonObject, Object.entries(answer.target as JsonObject)];
    // What takes its time may be there before a slow answer.
    const isThere = target.every(([name, value]) => state[name] === value);
    const settled = target.length === 0 ? null : row.isSettled || isThere;
    this.#expect(answer).toMatchObject({ state: row.state, settled });
    for (const [name, value] of target) {
      this.#expect(Object.keys(state), 'what the target names').toContain(name);
      // Numbers may differ by what the device can tell apart: 2,700 K are 2,703 K there.
      if (row.isSettled && typeof value !== 'number') this.#expect(state[name], `settled ${name}`).toEqual(value);
    }
  }

  async #expectRaw(facts: readonly Fact[], patience: typeof SOON): Promise<void> {
    if (facts.length > 0) await this.#expect.poll(() => this.#rawOf(facts), patience).toEqual(wanted(facts));
  }

  async #rawOf(facts: readonly Fact[]): Promise<Record<string, unknown>> {
    const values = facts.map(async (fact) => [label(fact), await this.#device.get(fact[0], fact[1], fact[2])] as const);
    return Object.fromEntries(await Promise.all(values));
  }
}

function wanted(facts: readonly Fact[]): Record<string, unknown> {
  return Object.fromEntries(facts.map((fact) => [label(fact), fact[3]]));
}

function label([endpoint, cluster, attribute]: Fact): string {
  return `${endpoint} ${cluster}.${attribute}`;
}

function sentMatcher({ cluster, command, fields }: Sent): unknown {
  return expect.objectContaining({ cluster, command, ...(fields && { fields: expect.objectContaining(fields) }) });
}
