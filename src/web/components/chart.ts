import { html, nothing, svg, type TemplateResult } from 'lit';
import { languageTag, text } from '../texts/text.ts';
import { CHART_MARGIN, type ChartPoint, type ChartShape, chartOf } from './chart-geometry.ts';
import { dateTimeWords, numberWords, withUnit } from './formatting.ts';
import { LightElement, type Stop } from './light-element.ts';

/** The axes of a curve. */
export interface ChartScale {
  readonly startMs: number;
  readonly endMs: number;
  readonly unit: string;
  readonly isStepped: boolean;
}

const HEIGHT_PX = 240;
const MAX_DOTS = 60;
const MINUTE_MS = 60_000;

/** A curve over time that shows the value under the pointer. Screen readers skip it, so the page must also describe it in words. */
export class Chart extends LightElement {
  static override properties = {
    points: { attribute: false },
    scale: { attribute: false },
    width: { state: true },
    pointed: { state: true },
  };
  declare points: readonly ChartPoint[];
  declare scale: ChartScale;
  declare width: number;
  /** Horizontal position of the pointer in pixels; undefined if the pointer is not over the curve. */
  declare pointed: number | undefined;
  readonly #observer = new ResizeObserver(() => {
    this.width = this.clientWidth;
  });

  constructor() {
    super();
    this.width = 0;
  }

  protected override connected(): readonly Stop[] {
    this.#observer.observe(this);
    return [() => this.#observer.disconnect()];
  }

  protected override render(): TemplateResult | typeof nothing {
    if (this.width === 0) return nothing;
    const { startMs, endMs, isStepped } = this.scale;
    const zoneOffsetMs = -new Date(endMs).getTimezoneOffset() * MINUTE_MS;
    const shape = chartOf(this.points, { width: this.width, height: HEIGHT_PX, startMs, endMs, isStepped, zoneOffsetMs });
    return html`<svg class="curve" width=${this.width} height=${HEIGHT_PX} aria-hidden="true"
      @pointermove=${(event: PointerEvent) => this.#point(event.offsetX)} @pointerleave=${() => this.#point(undefined)}>
      ${this.#axes(shape)}
      <path class=${shape.band === '' ? 'curve-area' : 'curve-band'} d=${shape.band || shape.area}></path><path class="curve-line" d=${shape.line}></path>
      ${shape.spots.length <= MAX_DOTS ? shape.spots.map(({ x, y }) => svg`<circle class="curve-dot" cx=${x} cy=${y} r="3"></circle>`) : nothing}
      ${this.#cursor(shape)}
    </svg>`;
  }

  #axes({ valueTicks, timeTicks }: ChartShape): TemplateResult {
    const right = this.width - CHART_MARGIN.right;
    return svg`
      ${valueTicks.map(
        ({ y, value }) => svg`<line class="curve-grid" x1=${CHART_MARGIN.left} x2=${right} y1=${y} y2=${y}></line>
          <text class="curve-text" x=${CHART_MARGIN.left - 8} y=${y + 4} text-anchor="end">${this.#valueWords(value)}</text>`,
      )}
      ${timeTicks.map(({ x, atMs, isDay }) => svg`<text class="curve-text" x=${x} y=${HEIGHT_PX - 6} text-anchor="middle">${timeWords(atMs, isDay)}</text>`)}
    ` as TemplateResult;
  }

  #cursor({ spots }: ChartShape): TemplateResult | typeof nothing {
    const { pointed } = this;
    if (pointed === undefined) return nothing;
    const [near] = spots.toSorted((a, b) => Math.abs(a.x - pointed) - Math.abs(b.x - pointed));
    if (!near) return nothing;
    const anchor = near.x > this.width / 2 ? 'end' : 'start';
    const { value, low = value, high = value } = near.point;
    const spread = low === high ? '' : ` (${this.#valueWords(low)} – ${this.#valueWords(high)})`;
    const words = `${this.#valueWords(value)}${spread} · ${dateTimeWords(near.point.atMs)}`;
    return svg`<line class="curve-cursor" x1=${near.x} x2=${near.x} y1=${CHART_MARGIN.top} y2=${HEIGHT_PX - CHART_MARGIN.bottom}></line>
      <circle class="curve-spot" cx=${near.x} cy=${near.y} r="5"></circle>
      <text class="curve-words" x=${near.x + (anchor === 'end' ? -10 : 10)} y=${CHART_MARGIN.top + 12} text-anchor=${anchor}>${words}</text>` as TemplateResult;
  }

  #valueWords(value: number): string {
    if (this.scale.isStepped) return value === 1 ? text('words.yes') : text('words.no');
    return withUnit(numberWords(value), this.scale.unit);
  }

  #point(x: number | undefined): void {
    this.pointed = x;
  }
}

function timeWords(atMs: number, isDay: boolean): string {
  const time = new Date(atMs);
  if (isDay) return time.toLocaleDateString(languageTag(), { day: 'numeric', month: 'short' });
  return time.toLocaleTimeString(languageTag(), { hour: '2-digit', minute: '2-digit' });
}

customElements.define('atmo-chart', Chart);
