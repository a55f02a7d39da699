import type { ReadingValue } from '../../src/core/devices/sensor-readings.ts';
import type { FoundSensor, ReadRequest, SampleListener, SensorFault, SensorSample, SensorSource } from '../../src/sensors/sensor-source.ts';

/** Sensors that say what a test tells them to say. */
export class SimulatedSource implements SensorSource {
  readonly name = 'sim';
  /** What was asked for, a list for each round. */
  readonly rounds: (readonly string[])[] = [];
  readonly #sensors = new Map<string, FoundSensor>();
  readonly #says = new Map<string, ReadingValue | SensorFault>();
  readonly #listeners = new Set<SampleListener>();

  /** Adds a thermometer, or whatever `about` says that it is. */
  plug(address: string, says: ReadingValue | SensorFault, about: Partial<FoundSensor> = {}): this {
    const [chip = '', channel = 'temperature'] = address.slice('sim:'.length).split('/');
    const what = { device: chip.split('@')[0] ?? chip, reading: channel, kind: channel, unit: '°C', title: `${chip} ${channel}` };
    this.#sensors.set(address, { address, ...what, ...about });
    return this.say(address, says);
  }

  say(address: string, says: ReadingValue | SensorFault): this {
    this.#says.set(address, says);
    return this;
  }

  unplug(address: string): void {
    this.#sensors.delete(address);
    this.#says.delete(address);
  }

  /** Speaks unasked. */
  provoke(address: string, atMs?: number): void {
    const sample = this.#sample(address);
    for (const listener of this.#listeners) listener('value' in sample && atMs !== undefined ? { ...sample, atMs } : sample);
  }

  async find(): Promise<readonly FoundSensor[]> {
    return [...this.#sensors.values()];
  }

  async read({ addresses, signal }: ReadRequest, hear: SampleListener): Promise<void> {
    this.rounds.push(addresses);
    for (const address of addresses) if (!signal.aborted) hear(this.#sample(address));
  }

  listen(hear: SampleListener): () => void {
    this.#listeners.add(hear);
    return () => this.#listeners.delete(hear);
  }

  #sample(address: string): SensorSample {
    const says = this.#says.get(address) ?? 'gone';
    return isFault(says) ? { address, fault: says, detail: `it is ${says}` } : { address, value: says };
  }
}

function isFault(says: ReadingValue | SensorFault): says is SensorFault {
  return says === 'gone' || says === 'busy' || says === 'garbled' || says === 'suspect';
}
