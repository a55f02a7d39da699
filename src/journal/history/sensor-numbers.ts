import type { DatabaseSync } from 'node:sqlite';
import type { SensorId } from '../../core/ids.ts';

/** A sensor as history.db knows it. */
export interface KnownSensor {
  /** Stands for the sensor in each row; one or two bytes instead of its name. */
  readonly number: number;
  /** It has said texts: there is nothing to average. */
  readonly holdsText: boolean;
}

/** The small numbers that stand for sensors in history.db; a number once given stays. */
export class SensorNumbers {
  readonly #known = new Map<SensorId, KnownSensor>();

  get(database: DatabaseSync, id: SensorId): KnownSensor | undefined {
    const known = this.#known.get(id);
    if (known) return known;
    const row = database.prepare('SELECT id, holds_text FROM sensor WHERE name = ?').get(id);
    if (!row) return undefined;
    return this.#remember(id, { number: Number(row.id), holdsText: row.holds_text === 1 });
  }

  /** Gives a number to a new sensor. Committed by itself, so not to be run inside a transaction that may be undone. */
  numberFor(database: DatabaseSync, id: SensorId, kind: 'number' | 'text'): number {
    const known = this.get(database, id);
    if (known && (known.holdsText || kind === 'number')) return known.number;
    const row = database
      .prepare('INSERT INTO sensor (name, holds_text) VALUES (?, ?) ON CONFLICT DO UPDATE SET holds_text = 1 RETURNING id')
      .get(id, kind === 'text' ? 1 : 0);
    return this.#remember(id, { number: Number(row?.id), holdsText: kind === 'text' }).number;
  }

  #remember(id: SensorId, sensor: KnownSensor): KnownSensor {
    this.#known.set(id, sensor);
    return sensor;
  }
}
