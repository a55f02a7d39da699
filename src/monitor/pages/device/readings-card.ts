import { html, nothing, type TemplateResult } from 'lit';
import type { ReadingView } from '../../api/hub-types.ts';
import type { Monitor } from '../../app.ts';
import { ageWords, readingName } from '../../parts/words.ts';
import { withUnit } from '../home/tile-model.ts';
import './reading-chart.ts';

const LIKED_KINDS = ['temperature', 'power', 'co2', 'humidity', 'brightness'];

interface ReadingsOptions {
  readonly app: Monitor;
  readonly readings: ReadonlyMap<string, ReadingView>;
  /** Name of the one whose history is shown; the first number when undefined. */
  readonly shown: string | undefined;
  readonly show: (name: string) => void;
}

/** Every reading with its value and age, and the history of one of them. */
export function readingsCard({ app, readings, shown, show }: ReadingsOptions): TemplateResult | typeof nothing {
  const all = [...readings.values()];
  const chosen = readings.get(shown ?? '') ?? firstOf(all);
  if (!chosen) return nothing;
  return html`
    <section class="card" aria-label="Readings"><h2>Readings</h2>
      <ul class="readings">${all.map((reading) => readingRow(reading, { isShown: reading === chosen, show }))}</ul></section>
    <section class="card stack chart-card" aria-label="History"><h2>${readingName(chosen.name)}</h2>
      <atmo-reading-chart .app=${app} .reading=${chosen}></atmo-reading-chart></section>
  `;
}

/** What people look at first, else the first number. */
function firstOf(all: readonly ReadingView[]): ReadingView | undefined {
  const liked = LIKED_KINDS.map((kind) => all.find((reading) => reading.kind === kind)).find((found) => found !== undefined);
  return liked ?? all.find(({ value }) => typeof value === 'number') ?? all[0];
}

function readingRow(
  reading: ReadingView,
  { isShown, show }: { readonly isShown: boolean; readonly show: (name: string) => void },
): TemplateResult {
  return html`<li><button type="button" class="reading" aria-pressed=${isShown} @click=${() => show(reading.name)}>
    <span>${readingName(reading.name)}</span><strong class="number">${withUnit(reading)}</strong>
    <span class="quiet small">${ageWords(reading.at, Date.now())}</span></button></li>`;
}
