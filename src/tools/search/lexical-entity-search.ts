import type { Device } from '../../core/devices/device-model.ts';
import { type HomeNames, NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { SensorInfo } from '../../core/devices/reading-store.ts';
import { areasOf, type Entity, entityTerms } from './documents/entity-document.ts';
import { foundNeeds } from './found-needs.ts';
import { rank } from './rank.ts';
import { reasonsOf } from './reasons.ts';
import type { EntityMatch, EntitySearch, SearchedHome, SearchQuery } from './search.ts';
import { TermIndex } from './term-index.ts';
import { needsOf } from './understand.ts';

const DEFAULT_LIMIT = 10;

/** Finds devices, areas and sensors with the same words, meanings and weights as tools. */
export class LexicalEntitySearch implements EntitySearch {
  readonly #names: HomeNames;
  readonly #index: TermIndex<Entity>;
  /** What was made of a device, sensor or area, for as long as it is the same. */
  readonly #devices = new WeakMap<Device, Entity>();
  readonly #sensors = new WeakMap<SensorInfo, Extract<Entity, { kind: 'sensor' }>>();
  readonly #areas = new Map<string, Entity>();
  #revision: number;

  constructor(names: HomeNames = NO_HOME_NAMES) {
    this.#names = names;
    this.#index = new TermIndex((entity) => entityTerms(entity, names));
    this.#revision = names.revision;
  }

  search({ text, limit = DEFAULT_LIMIT }: SearchQuery, home: SearchedHome): readonly EntityMatch[] {
    this.#followNames();
    const members = this.#index.membersOf(this.#entitiesOf(home));
    const tieBreak = (document: number) => this.#index.item(document)?.id ?? '';
    const { ranked, needs } = rank(this.#index, { needs: needsOf(text), limit, tieBreak }, (document) => members[document] === 1);
    return ranked.flatMap((one) => {
      const entity = this.#index.item(one.document);
      if (!entity) return [];
      const { kind, id, name } = entity;
      const score = Math.round(one.score * 1000) / 1000;
      const area = kind === 'area' ? undefined : entity.area;
      return [{ kind, id, name, ...(area !== undefined && { area }), score, reasons: reasonsOf(foundNeeds(this.#index, one, needs)) }];
    });
  }

  #entitiesOf({ devices, sensors }: SearchedHome): readonly Entity[] {
    const names = new Map(devices.map((device) => [device.id as string, device.name]));
    return [
      ...devices.map((device) => this.#deviceEntity(device)),
      ...sensors.map((sensor) => this.#sensorEntity(sensor, names.get(sensor.device) ?? sensor.device)),
      ...[...areasOf(devices)].map(([key, name]) => this.#areaEntity(key, name)),
    ];
  }

  #deviceEntity(device: Device): Entity {
    const known = this.#devices.get(device);
    if (known) return known;
    const { id, name, area } = device;
    const entity: Entity = { kind: 'device', id, name, ...(area !== undefined && { area }), device };
    this.#devices.set(device, entity);
    return entity;
  }

  #sensorEntity(sensor: SensorInfo, deviceName: string): Entity {
    const known = this.#sensors.get(sensor);
    if (known?.deviceName === deviceName) return known;
    const { id, title, area } = sensor;
    const entity = {
      kind: 'sensor',
      id,
      name: `${deviceName}: ${title}`,
      ...(area !== undefined && { area }),
      sensor,
      deviceName,
    } as const;
    this.#sensors.set(sensor, entity);
    return entity;
  }

  #areaEntity(key: string, name: string): Entity {
    const known = this.#areas.get(key);
    if (known?.name === name) return known;
    const entity: Entity = { kind: 'area', id: key, name };
    this.#areas.set(key, entity);
    return entity;
  }

  #followNames(): void {
    if (this.#names.revision === this.#revision) return;
    this.#revision = this.#names.revision;
    this.#index.clear();
  }
}
