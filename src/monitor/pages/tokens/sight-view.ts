import { html, type TemplateResult } from 'lit';
import type { TokenSight } from './token-sight.ts';

/** What an agent is shown, devices and tools by name. */
export function sightView({ devices, tools }: TokenSight): TemplateResult {
  return html`<section class="sight" aria-label="What it sees" role="status">
    <p><strong>${devices.length} ${devices.length === 1 ? 'device' : 'devices'}</strong> <span class="quiet"><bdi>${devices.map(({ name }) => name).join(', ') || 'none'}</bdi></span></p>
    <details><summary>${tools.length} tools</summary><ul>${tools.map(({ id, name }) => html`<li><bdi>${name}</bdi> <code>${id}</code></li>`)}</ul></details>
  </section>`;
}
