import { html, nothing, type TemplateResult } from 'lit';
import type { StepLine } from './commission-steps.ts';

const WORDS = { waiting: 'to come', current: 'now', done: 'done', failed: 'failed' } as const;

/** The steps of a commissioning, as a list that screen readers follow. */
export function stepsView(lines: readonly StepLine[]): TemplateResult {
  const current = lines.find(({ state }) => state === 'current');
  return html`
    <ol class="steps">
      ${lines.map(
        ({ step, title, state, note }) => html`<li class=${state} data-step=${step} aria-current=${state === 'current' ? 'step' : nothing}>
          <span class="mark" aria-hidden="true"></span><span>${title}<span class="hidden">: ${WORDS[state]}</span>${
            state === 'current' && note !== '' ? html`<br /><span class="quiet small">${note}</span>` : nothing
          }</span></li>`,
      )}
    </ol>
    <p class="hidden" role="status">${current === undefined ? nothing : current.title}</p>
  `;
}
