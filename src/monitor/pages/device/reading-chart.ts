import { html, LitElement, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../../api/hub-error.ts';
import type { ReadingView } from '../../api/hub-types.ts';
import type { Monitor } from '../../app.ts';
import '../../parts/chart.ts';
import type { ChartPoint } from '../../parts/chart-geometry.ts';
import { ageWords, capital, valueWords } from '../../parts/words.ts';
import { curveOf, curveWords, type HistoryPoint, type HistoryRange, historyPath, RANGES } from './history-range.ts';

const CHANGES_SHOWN = 12;

/** The history of one reading: a curve, or the last changes of what has words for values. */
export class ReadingChart extends LitElement {
  static override properties = {
    app: { attribute: false },
    reading: { attribute: false },
    range: { state: true },
    history: { state: true },
    problem: { state: true },
  };
  declare app: Monitor;
  declare reading: ReadingView;
  declare range: HistoryRange;
  declare history: { readonly points: readonly HistoryPoint[]; readonly endMs: number } | undefined;
  declare problem: string | undefined;
  #asked = '';

  constructor() {
    super();
    this.range = RANGES[1];
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  protected override updated(): void {
    const { id, at } = this.reading;
    const question = `${id} ${this.range.name} ${at}`;
    if (question === this.#asked) return;
    this.#asked = question;
    void this.#load(question);
  }

  protected override render(): TemplateResult {
    return html`
      <div class="tabs" role="group" aria-label="Time">${RANGES.map(
        (range) =>
          html`<button type="button" aria-pressed=${range === this.range} @click=${() => {
            this.range = range;
          }}>${range.title}</button>`,
      )}</div>
      ${this.problem === undefined ? nothing : html`<p class="alert">${this.problem}</p>`}
      ${this.history ? this.#history(this.history) : html`<p class="quiet chart-space">One moment …</p>`}
    `;
  }

  #history({ points, endMs }: { readonly points: readonly HistoryPoint[]; readonly endMs: number }): TemplateResult {
    const { value, unit, title } = this.reading;
    if (typeof value === 'string' || value === null) return changes(points);
    const curve = curveOf(points, { value, atMs: endMs });
    const isStepped = typeof value === 'boolean';
    const scale = { startMs: endMs - this.range.lengthMs, endMs, unit, isStepped };
    return html`<figure class="chart" role="img" aria-label="${title} in the last ${this.range.name}">
        <atmo-chart .points=${curve} .scale=${scale}></atmo-chart>
      </figure>
      ${isStepped ? nothing : html`<p class="quiet small number">${curveWords(inRange(curve, scale.startMs), unit)}</p>`}`;
  }

  async #load(question: string): Promise<void> {
    const nowMs = Date.now();
    const path = historyPath(this.reading.id, this.range, { isNumber: typeof this.reading.value === 'number', nowMs });
    try {
      const { points } = await this.app.hub.get<{ points: readonly HistoryPoint[] }>(path);
      if (question !== this.#asked) return;
      this.history = { points, endMs: nowMs };
      this.problem = undefined;
    } catch (error) {
      this.problem = messageOf(error);
    }
  }
}

function inRange(points: readonly ChartPoint[], startMs: number): readonly ChartPoint[] {
  return points.filter(({ atMs }) => atMs >= startMs);
}

function changes(points: readonly HistoryPoint[]): TemplateResult {
  const shown = points.toReversed().slice(0, CHANGES_SHOWN);
  if (shown.length === 0) return html`<p class="quiet">No changes in this time.</p>`;
  return html`<ul class="changes">${shown.map(
    ({ at, value }) =>
      html`<li><span>${capital(valueWords(value))}</span><time class="quiet small" datetime=${at}>${ageWords(at, Date.now())}</time></li>`,
  )}</ul>`;
}

customElements.define('atmo-reading-chart', ReadingChart);
