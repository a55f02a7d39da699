import { type HomeNames, NO_HOME_NAMES } from '../../core/devices/home-names.ts';
import type { SensorInfo } from '../../core/devices/reading-store.ts';
import { quoted } from '../../core/foreign-text.ts';
import { bySureness, confidenceOf, sureScore } from './confidence.ts';
import { areasOf, type Entity, entityTerms } from './documents/entity-document.ts';
import { foundNeeds } from './found-needs.ts';
import type { Need, Wish } from './need.ts';
import { inTurn, type Ranked, rank } from './rank.ts';
import { reasonsOf } from './reasons.ts';
import type { EntityMatch, EntitySearch, SearchedDevice, SearchedHome, SearchQuery } from './search.ts';
import { TermIndex } from './term-index.ts';
import { wishesOf } from './understand.ts';

const DEFAULT_LIMIT = 10;
/** What is below this confidence shares a word with the sentence by chance. */
const NAMED_FROM = 0.12;
/** Beyond these, devices that are long gone are forgotten with the others. */
const MOST_DEVICES = 10_000;

/** Finds devices, areas and sensors with the same words, meanings and weights as tools. */
export class LexicalEntitySearch implements EntitySearch {
  readonly #names: HomeNames;
  readonly #index: TermIndex<Entity>;
  /** What was made of a device, for as long as all that is searched in it stays: a device is another object after each report. */
  readonly #devices = new Map<string, { readonly facts: string; readonly entity: Entity }>();
  /** What was made of a sensor or area, for as long as it is the same. */
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
    const areaOf = (document: number) => placeOf(this.#index.item(document));
    const found = wishesOf(text).map((wish) => {
      const { ranked, needs } = rank(this.#index, { wish, limit, tieBreak, areaOf }, (document) => members[document] === 1);
      const matches = ranked.flatMap((one) => this.#match(one, { wish, needs }));
      return bySureness(matches.filter(({ confidence }) => confidence >= NAMED_FROM));
    });
    return inTurn(found, ({ kind, id, node = '' }) => `${kind} ${id} ${node}`).slice(0, limit);
  }

  #match(one: Ranked, asked: { readonly wish: Wish; readonly needs: readonly Need[] }): readonly EntityMatch[] {
    const entity = this.#index.item(one.document);
    if (!entity) return [];
    const { kind, id, name, node } = entity;
    const confidence = confidenceOf(this.#index, one, { ...asked, isThing: true });
    const area = kind === 'area' ? undefined : entity.area;
    return [
      {
        kind,
        id,
        name,
        ...(area !== undefined && { area }),
        ...(node !== undefined && { node }),
        score: sureScore(one.score, confidence),
        confidence,
        reasons: reasonsOf(foundNeeds(this.#index, one, asked.needs)),
      },
    ];
  }

  #entitiesOf({ devices, sensors }: SearchedHome): readonly Entity[] {
    const names = new Map(devices.filter(({ node }) => node === undefined).map(({ id, name }) => [id as string, name]));
    if (this.#devices.size > MOST_DEVICES) this.#devices.clear();
    return [
      ...devices.map((device) => this.#deviceEntity(device)),
      ...sensors.map((sensor) => this.#sensorEntity(sensor, names.get(sensor.device) ?? sensor.device)),
      ...[...areasOf(devices)].map(([id, area]) => this.#areaEntity({ kind: 'area', id, ...area })),
    ];
  }

  #deviceEntity(device: SearchedDevice): Entity {
    const { id, name, area, node, deviceTypes, vendor, product } = device;
    const key = `${node ?? ''} ${id}`;
    const facts = JSON.stringify([name, area, deviceTypes, vendor, product]);
    const known = this.#devices.get(key);
    if (known?.facts === facts) return known.entity;
    const entity: Entity = { kind: 'device', id, name, ...(area !== undefined && { area }), ...(node && { node }), device };
    this.#devices.set(key, { facts, entity });
    return entity;
  }

  #sensorEntity(sensor: SensorInfo, deviceName: string): Entity {
    const known = this.#sensors.get(sensor);
    if (known?.deviceName === deviceName) return known;
    const { id, title, area } = sensor;
    const entity = {
      kind: 'sensor',
      id,
      name: title.includes(quoted(deviceName)) ? title : `${quoted(deviceName)}: ${title}`,
      ...(area !== undefined && { area }),
      sensor,
      deviceName,
    } as const;
    this.#sensors.set(sensor, entity);
    return entity;
  }

  #areaEntity(area: Extract<Entity, { kind: 'area' }>): Entity {
    const known = this.#areas.get(area.id);
    if (known?.name === area.name && known.node === area.node) return known;
    this.#areas.set(area.id, area);
    return area;
  }

  #followNames(): void {
    if (this.#names.revision === this.#revision) return;
    this.#revision = this.#names.revision;
    this.#index.clear();
  }
}

function placeOf(entity: Entity | undefined): string | undefined {
  if (!entity) return undefined;
  return entity.kind === 'area' ? entity.name : entity.area;
}
