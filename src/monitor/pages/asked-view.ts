import { html, nothing, type TemplateResult } from 'lit';
import { icon } from '../parts/icon.ts';
import type { Asked } from './asked.ts';

/** What was asked for: `show` draws it, with a word beside it while it is on its way or when it could not be had. */
export function askedView<Value>(asked: Asked<Value>, show: (value: Value) => unknown): TemplateResult {
  const { value, problem, isAsking } = asked;
  return html`
    ${problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${problem}</p>`}
    ${isAsking && value === undefined ? html`<p class="quiet" aria-busy="true">One moment …</p>` : nothing}
    ${value === undefined ? nothing : show(value)}
  `;
}
