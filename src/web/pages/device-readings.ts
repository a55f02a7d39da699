import '../components/chart.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import type { ReadingView } from '../api/hub-types.ts';
import type { App } from '../app.ts';
import { ageWords, capital, dateTimeWords, readingName, valueWords } from '../components/formatting.ts';
import { LightElement, type Stop } from '../components/light-element.ts';
import { text } from '../texts/text.ts';
import { readingValueWords } from './device-tile-words.ts';
import {
  curveOf,
  curveWords,
  fetchHistory,
  type HistoryAnswer,
  type HistoryPoint,
  type HistoryRange,
  RANGES,
  startOf,
} from './reading-history.ts';

const PREFERRED_KINDS = ['temperature', 'power', 'co2', 'humidity', 'brightness'];

interface ReadingsOptions {
  readonly app: App;
  readonly readings: ReadonlyMap<string, ReadingView>;
  /** Name of the reading whose history is visible. If it is undefined, `firstOf` selects a reading. */
  readonly shown: string | undefined;
  readonly show: (name: string) => void;
}

/** Returns a card with every reading, its value and age, and the history of one reading. */
export function readingsCard({ app, readings, shown, show }: ReadingsOptions): TemplateResult | typeof nothing {
  const all = [...readings.values()];
  const chosen = readings.get(shown ?? '') ?? firstOf(all);
  if (!chosen) return nothing;
  return html`
    <section class="card" aria-label=${text('devices.readings')}><h2>${text('devices.readings')}</h2>
      <ul class="readings">${all.map((reading) => readingRow(reading, { isShown: reading === chosen, show }))}</ul></section>
    <section class="card stack chart-card" aria-label=${text('devices.history')}><h2>${readingName(chosen.name)}</h2>
      <atmo-reading-chart .app=${app} .reading=${chosen}></atmo-reading-chart></section>
  `;
}

/** Returns the reading that is shown at first. Preferred kinds come first, then readings with a number, then all others. */
function firstOf(all: readonly ReadingView[]): ReadingView | undefined {
  const preferred = PREFERRED_KINDS.map((kind) => all.find((reading) => reading.kind === kind)).find((found) => found !== undefined);
  return preferred ?? all.find(({ value }) => typeof value === 'number') ?? all[0];
}

function readingRow(
  reading: ReadingView,
  { isShown, show }: { readonly isShown: boolean; readonly show: (name: string) => void },
): TemplateResult {
  return html`<li><button type="button" class="reading" aria-pressed=${isShown} @click=${() => show(reading.name)}>
    <span>${readingName(reading.name)}</span><strong class="number">${readingValueWords(reading)}</strong>
    <span class="quiet small">${ageWords(reading.at, Date.now())}</span></button></li>`;
}

const CHANGES_SHOWN = 12;
/** Minimum time between two loads of the same history in milliseconds. A meter may report its power every second. */
const RELOAD_MS = 5_000;
const [HOUR, DAY] = RANGES;

/** Shows the history of one reading as a curve. For a reading that is a text, shows a list of its last changes instead. */
export class ReadingChart extends LightElement {
  static override properties = {
    app: { attribute: false },
    reading: { attribute: false },
    range: { state: true },
    history: { state: true },
    problem: { state: true },
  };
  declare app: App;
  declare reading: ReadingView;
  declare range: HistoryRange;
  declare history: (HistoryAnswer & { readonly endMs: number }) | undefined;
  declare problem: string | undefined;
  #loaded = '';
  #loadedMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** True if a person has chosen the range. Otherwise the page chooses a range that suits the length of the history. */
  #isChosen = false;

  constructor() {
    super();
    this.range = DAY;
  }

  protected override connected(): readonly Stop[] {
    return [() => clearTimeout(this.#timer)];
  }

  protected override willUpdate(changes: Map<PropertyKey, unknown>): void {
    const before = changes.get('reading') as ReadingView | undefined;
    if (before === undefined || before.id === this.reading.id) return;
    this.history = undefined;
    if (!this.#isChosen) this.range = DAY;
  }

  protected override updated(changes: Map<PropertyKey, unknown>): void {
    const { id, at } = this.reading;
    const query = `${id} ${this.range.name} ${at}`;
    if (query === this.#loaded) return;
    this.#loaded = query;
    clearTimeout(this.#timer);
    const before = changes.get('reading') as ReadingView | undefined;
    const waitMs = before?.id === id ? Math.max(0, this.#loadedMs + RELOAD_MS - Date.now()) : 0;
    this.#timer = setTimeout(() => void this.#load(query), waitMs);
  }

  protected override render(): TemplateResult {
    return html`
      <div class="tabs" role="group" aria-label=${text('devices.range')}>${RANGES.map(
        (range) =>
          html`<button type="button" aria-pressed=${range === this.range} @click=${() => {
            this.#isChosen = true;
            this.range = range;
          }}>${text(`devices.range_${range.name}`)}</button>`,
      )}</div>
      ${this.problem === undefined ? nothing : html`<p class="alert">${this.problem}</p>`}
      ${this.history ? this.#history(this.history) : html`<p class="quiet chart-space">${text('shell.wait')}</p>`}
    `;
  }

  #history({ endMs, ...history }: HistoryAnswer & { readonly endMs: number }): TemplateResult {
    const { value, unit, title } = this.reading;
    if (typeof value === 'string' || value === null) return changes(history.points);
    const curve = curveOf(history, { value, atMs: endMs });
    const isStepped = typeof value === 'boolean';
    const startMs = startOf(curve, this.range, endMs);
    const scale = { startMs, endMs, unit, isStepped };
    const since = dateTimeWords(startMs);
    return html`<figure class="chart" role="img" aria-label=${text('devices.curve', { title, since })}>
        <atmo-chart .points=${curve} .scale=${scale}></atmo-chart>
      </figure>
      ${isStepped ? nothing : html`<p class="quiet small number">${curveWords(curve, unit)}</p>`}`;
  }

  async #load(query: string): Promise<void> {
    const { range } = this;
    const nowMs = Date.now();
    this.#loadedMs = nowMs;
    const isNumber = typeof this.reading.value === 'number';
    try {
      const history = await fetchHistory((path) => this.app.hub.get(path), { sensor: this.reading.id, range, isNumber, nowMs });
      if (query !== this.#loaded) return;
      this.problem = undefined;
      if (!this.#isChosen && range === DAY && isYoung(history.points, nowMs)) this.range = HOUR;
      else this.history = { ...history, endMs: nowMs };
    } catch (error) {
      this.problem = messageOf(error);
    }
  }
}

/** Returns whether the first value is less than an hour old. A chart of a whole day would show such a history as a line at the edge. */
function isYoung([first]: readonly HistoryPoint[], nowMs: number): boolean {
  return first !== undefined && nowMs - Date.parse(first.at) < HOUR.lengthMs;
}

function changes(points: readonly HistoryPoint[]): TemplateResult {
  const shown = points.toReversed().slice(0, CHANGES_SHOWN);
  if (shown.length === 0) return html`<p class="quiet">${text('devices.no_changes')}</p>`;
  return html`<ul class="changes">${shown.map(
    ({ at, value }) =>
      html`<li><span>${capital(valueWords(value))}</span><time class="quiet small" datetime=${at}>${ageWords(at, Date.now())}</time></li>`,
  )}</ul>`;
}

customElements.define('atmo-reading-chart', ReadingChart);
